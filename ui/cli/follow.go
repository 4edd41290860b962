package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"slices"
	"sync"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// follower prints a Chat until it rests, and lets the person interrupt it and answer its cards.
type follower struct {
	command *chatCommand
	api     *client.Client
	id      chat.ID
	// after is the newest Message that is not to be printed; queued is our own Message while it waits.
	after  chat.MessageID
	queued chat.MessageID
	held   client.Transcript
	show   *show
	// cards are the permission cards that are asked here, lines what the person types.
	cards cards
	lines chan string
	// question is the one that the person is asked at rest, nil for none; agents are the sub-agents as they were last told of.
	question *question
	agents   map[chat.ID]chat.State
	// interrupted: the person asked for it.
	interrupted bool
}

func newFollower(c *chatCommand, api *client.Client) *follower {
	return &follower{command: c, api: api, show: newShow(c.std), agents: map[chat.ID]chat.State{}}
}

func (f *follower) note(text string) error {
	if f.command.json {
		return nil
	}
	return f.show.note(text)
}

// run follows the Chat. The end of ctx is the first Ctrl-C: it interrupts the Turn, and only the second one leaves.
func (f *follower) run(ctx context.Context) error {
	presses := make(chan os.Signal, 4)
	signal.Notify(presses, os.Interrupt)
	defer signal.Stop(presses)
	work, leave := context.WithCancel(context.WithoutCancel(ctx))
	f.show.unlimited = sync.OnceValue(func() bool {
		cfg, err := f.api.ChatAdvisorConfig(work)
		return err == nil && cfg.MaxUsesPerRun == 0
	})
	frames := make(chan client.Frame)
	children := make(chan client.Chat)
	ended := make(chan error, 2)
	var joined sync.WaitGroup
	joined.Go(func() { ended <- f.read(work, frames) })
	joined.Go(func() { ended <- f.relatives(work, children) })
	defer joined.Wait()
	defer leave()
	pressed := 0
	first := ctx.Done()
	for {
		select {
		case frame := <-frames:
			done, err := f.take(work, frame)
			if done || err != nil {
				return err
			}
		case c := <-children:
			if done, err := f.relative(work, &c); done || err != nil {
				return err
			}
		case err := <-ended:
			return err
		case <-first:
			first = nil
			if f.question != nil {
				return &Exit{Code: CodeNeedsPerson}
			}
			f.interrupted = true
			if _, err := f.api.Interrupt(work, f.id); err != nil {
				return err
			}
			if err := f.note("interrupting; Ctrl-C again leaves"); err != nil {
				return err
			}
		case <-presses:
			// The first press ended ctx, too.
			if pressed++; pressed > 1 {
				return &Exit{Code: CodeCtrlC}
			}
		case line := <-f.lines:
			if done, err := f.decide(work, line); done || err != nil {
				return err
			}
		}
	}
}

// read hands on the stream's frames.
func (f *follower) read(ctx context.Context, frames chan<- client.Frame) error {
	for frame, err := range f.api.Stream(ctx, f.id, f.after) {
		if err != nil {
			return err
		}
		select {
		case frames <- frame:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// take prints a frame; done says that nothing more is to come.
func (f *follower) take(ctx context.Context, frame client.Frame) (done bool, err error) {
	if err := f.held.Apply(frame); err != nil {
		return false, err
	}
	if f.queued != 0 && !slices.ContainsFunc(f.held.Queued, func(q client.QueuedMessage) bool { return q.ID == f.queued }) {
		f.queued = 0
	}
	if f.command.json {
		err = f.printEvents(frame)
	} else {
		err = f.show.frame(frame, &f.held)
	}
	if err != nil {
		return false, err
	}
	if !f.held.Status.Status.AtRest() {
		// It may have been answered elsewhere.
		f.question = nil
	}
	switch {
	case f.held.Status.Status == chat.RequiresAction:
		return false, f.ask(ctx)
	case f.held.Status.Status.AtRest():
		return f.rested(ctx)
	}
	return false, nil
}

func (f *follower) printEvents(frame client.Frame) error {
	var out []byte
	for _, e := range frame.Events {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		out = append(append(out, b...), '\n')
	}
	_, err := f.command.std.Out.Write(out)
	return err
}

// outcome says how the Turn ended.
func (f *follower) outcome(c *client.Chat) error {
	switch {
	case c.LastError != nil:
		return &chat.Error{Kind: c.LastError.Kind, Message: c.LastError.Message, Detail: c.LastError.Detail}
	case f.queued != 0:
		return &Exit{Code: CodeFailed, Message: "chat " + string(f.id) + " rests, and the message still waits in its queue"}
	case f.interrupted || c.RestReason != nil && *c.RestReason == chat.RestInterrupted:
		return &Exit{Code: CodeInterrupted, Message: "the turn was interrupted; what was done is kept in chat " + string(f.id)}
	case c.RestReason == nil:
		return f.atWork(c)
	}
	switch *c.RestReason {
	case chat.RestLength:
		return f.note("the answer ended at the length limit of the model")
	case chat.RestStepCap:
		return f.note("the turn ended at the limit of steps")
	}
	return &Exit{Code: CodeFailed, Message: "chat " + string(f.id) + " rests (" + string(*c.RestReason) + "); look at it before it goes on"}
}

// ask shows the first open card, or leaves where nobody can answer.
func (f *follower) ask(ctx context.Context) error {
	open := f.nextCard()
	if open == nil {
		return nil
	}
	if open.Kind == chat.OutstandingClient {
		return &Exit{Code: CodeNeedsPerson, Message: "chat " + string(f.id) + " waits for the program that runs " + callLine(open.ToolName, open.Args)}
	}
	if f.lonely() {
		return &Exit{Code: CodeNeedsPerson, Message: "chat " + string(f.id) + " needs an approval for " + callLine(open.ToolName, open.Args) +
			"; answer it in the browser, or run chat on a terminal"}
	}
	one, err := f.ofCall(ctx, f.id, "", *open)
	if err != nil {
		return err
	}
	return f.put(one)
}

// listen reads what the person types.
func (f *follower) listen() {
	if f.lines == nil {
		f.lines = make(chan string)
		// It ends with the process: a read from a terminal cannot be called off.
		go readLines(f.command.std.In, f.lines)
	}
}

// nextCard is the first open Call, nil when it was shown already or there is none.
func (f *follower) nextCard() *client.OpenCall {
	first := slices.IndexFunc(f.held.Open, func(o client.OpenCall) bool { return o.Kind == chat.OutstandingApproval })
	if first < 0 {
		// None is a person's to answer.
		first = 0
	}
	if len(f.held.Open) == 0 || f.cards.known(f.id, f.held.Open[first]) {
		return nil
	}
	return &f.held.Open[first]
}

// decide sends the person's answer to the question or the card that is shown.
func (f *follower) decide(ctx context.Context, line string) (done bool, err error) {
	if f.question != nil {
		return f.reply(ctx, line)
	}
	return false, f.answer(ctx, line)
}

func isAnswered(err error) bool {
	e, ok := err.(*chat.Error)
	return ok && (e.Kind == chat.KindWrongState || e.Kind == chat.KindNotFound)
}

func readLines(from interface{ Read([]byte) (int, error) }, to chan<- string) {
	for s := bufio.NewScanner(from); s.Scan(); {
		to <- s.Text()
	}
}
