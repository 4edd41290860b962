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
	// shown names what the person sees of it: what has changed since is another card.
	shown string
	text  string
}

// cards are those of the Chat and of its sub-agents, one shown at a time.
type cards struct {
	// seen are all that were shown, or wait to be.
	seen    []card
	waiting []card
	// open is the one that is shown, nil once it is answered.
	open *card
}

func (c *cards) known(id chat.ID, o client.OpenCall) bool {
	return slices.ContainsFunc(c.seen, func(one card) bool { return one.chat == id && one.call == o.CallID && one.shown == shownOf(o) })
}

func shownOf(o client.OpenCall) string {
	if o.Asked == nil {
		return ""
	}
	return o.Asked.Shown
}

// ofCall is the card of a Call: who asks, the Call whole, where it acts, why it asks and what holds it.
func (f *follower) ofCall(ctx context.Context, id chat.ID, who string, o client.OpenCall) (card, error) {
	text := who + wholeCall(o.ToolName, o.Args)
	if o.Asked != nil {
		place, err := f.placeOf(ctx, id)
		if err != nil {
			return card{}, err
		}
		text += "\n" + strings.Join(askedLines(o.Asked, place), "\n")
	}
	return card{id, o.CallID, shownOf(o), text}, nil
}

// placeOf names the Workspace of a Chat and the machine that has it; "" without one.
func (f *follower) placeOf(ctx context.Context, id chat.ID) (string, error) {
	c, err := f.api.Chat(ctx, id)
	if err != nil || c.WorkspaceID == nil || *c.WorkspaceID == "" {
		return "", err
	}
	w, err := f.api.Workspace(ctx, *c.WorkspaceID)
	if err != nil {
		return "", err
	}
	if w.AgentID != "" {
		return w.Name + ", on the agent " + string(w.AgentID), nil
	}
	return w.Name + ", on the machine of this appliance", nil
}

// askedLines are what a person must know before they decide, besides the Call.
func askedLines(a *client.OpenAsk, place string) []string {
	var out []string
	line := func(label, value string) {
		if value != "" {
			out = append(out, "  "+label+": "+strings.ReplaceAll(value, "\n", "\n    "))
		}
	}
	line("command", a.Command)
	line("in", a.Directory)
	line("workspace", place)
	for _, t := range a.Targets {
		note := ""
		switch {
		case t.Protected:
			note = " (protected)"
		case t.Outside:
			note = " (outside of the workspace)"
		case t.Shared:
			note = " (has other names)"
		}
		line("file", t.Path+note)
	}
	line("asks because", a.Why)
	line("changed since it was allowed", a.Again)
	if a.Sandbox != nil {
		line("sandbox", sandboxWord(*a.Sandbox))
	}
	return out
}

// sandboxWord says what holds a command.
func sandboxWord(s chat.Sandbox) string {
	open := ""
	if len(s.Open) > 0 {
		open = "; open are " + strings.Join(s.Open, ", ")
	}
	switch {
	case s.Level == chat.SandboxNone:
		return "none: it has all rights of the account that runs it"
	case s.Full() && s.Profile == chat.ProfileReadOnly:
		return "full: it changes nothing, no network"
	case s.Full():
		return "full: it writes only inside of the workspace, no network"
	}
	return string(s.Level) + ", profile " + string(s.Profile) + open
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
	in := client.Approval{Decision: client.Deny, Shown: f.cards.open.shown}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		in.Decision = client.AllowOnce
	case "n", "no":
	default:
		return f.show.ask("y or n? ")
	}
	err := f.api.Approve(ctx, f.cards.open.chat, f.cards.open.call, in)
	if refused, no := err.(*chat.Error); no && isAnswered(err) {
		// Somebody else was faster, or it is another card by now; what follows is shown as it comes.
		err = f.note(refused.Message)
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
		if o.Kind != chat.OutstandingApproval || f.cards.known(c.ID, o) {
			continue
		}
		one, err := f.ofCall(ctx, c.ID, plain("sub-agent “"+c.Title+"”: "), o)
		if err == nil {
			err = f.put(one)
		}
		if err != nil {
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
