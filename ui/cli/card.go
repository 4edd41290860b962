package cli

import (
	"context"
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// card is a permission card of a Chat; text is what is asked.
type card struct {
	chat chat.ID
	call string
	text string
}

// cards are those of the Chat and of its sub-agents, one shown at a time.
type cards struct {
	// seen are all that were shown, or wait to be.
	seen    []card
	waiting []card
	// open is the one that is shown, nil once it is answered.
	open *card
}

func (c *cards) known(id chat.ID, call string) bool {
	return slices.ContainsFunc(c.seen, func(one card) bool { return one.chat == id && one.call == call })
}

// put shows a card, or keeps it until the one that is shown is answered.
func (f *follower) put(c card) error {
	f.listen()
	f.cards.seen = append(f.cards.seen, c)
	if f.cards.open != nil {
		f.cards.waiting = append(f.cards.waiting, c)
		return nil
	}
	f.cards.open = &c
	return f.show.ask(c.text)
}

// answer sends what the person said to the card that is shown, and shows the next.
func (f *follower) answer(ctx context.Context, line string) error {
	if f.cards.open == nil {
		return nil
	}
	in := client.Approval{Decision: client.Deny}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		in.Decision = client.AllowOnce
	case "n", "no":
	default:
		return f.show.ask("y or n? ")
	}
	err := f.api.Approve(ctx, f.cards.open.chat, f.cards.open.call, in)
	if isAnswered(err) {
		// Somebody else was faster; what follows is shown as it comes.
		err = f.note("this was answered already")
	}
	f.cards.open = nil
	if err != nil || len(f.cards.waiting) == 0 {
		return err
	}
	next := f.cards.waiting[0]
	f.cards.waiting = f.cards.waiting[1:]
	f.cards.open = &next
	return f.show.ask(next.text)
}

// agentCards asks what a sub-agent needs a person's leave for.
func (f *follower) agentCards(ctx context.Context, c *client.Chat) error {
	open, err := f.openCalls(ctx, c.ID)
	if err != nil {
		return err
	}
	for _, o := range open {
		if o.Kind != chat.OutstandingApproval || f.cards.known(c.ID, o.CallID) {
			continue
		}
		if err := f.put(card{c.ID, o.CallID, plain("sub-agent “" + c.Title + "”: " + wholeCall(o.ToolName, o.Args))}); err != nil {
			return err
		}
	}
	return nil
}

// openCalls are the Calls of another Chat that wait, as the first frame of its stream names them.
func (f *follower) openCalls(ctx context.Context, id chat.ID) ([]client.OpenCall, error) {
	for frame, err := range f.api.Stream(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		var held client.Transcript
		err = held.Apply(frame)
		return held.Open, err
	}
	return nil, context.Cause(ctx)
}
