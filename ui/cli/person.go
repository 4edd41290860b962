package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// question is what a Turn ended with for a person to answer: questions, one after the other, or a plan.
type question struct {
	call string
	list []chat.Question
	// answers are those given so far; plan is what a plan says.
	answers []string
	plan    string
}

// implement is what the go-ahead for a plan says to the model.
const implement = "The plan is approved. Implement it."

// rested ends the command, or asks the person what the Turn ended with.
func (f *follower) rested(ctx context.Context) (done bool, err error) {
	if err := f.show.end(); err != nil {
		return true, err
	}
	c, err := f.api.Chat(ctx, f.id)
	if err != nil {
		return true, err
	}
	if c.Asks == nil || f.queued != 0 {
		// What a sub-agent asks here is answered first.
		if f.queued == 0 && c.LastError == nil && !f.lonely() && needsPerson(&c) != nil {
			return false, nil
		}
		return true, f.outcome(&c)
	}
	q, err := f.openQuestion(*c.Asks)
	if err != nil || q == nil {
		return true, err
	}
	if f.question != nil && f.question.call == q.call {
		return false, nil
	}
	f.question = q
	if f.lonely() {
		what := "shows a plan"
		if q.list != nil {
			what = "asks: " + shorten(q.list[0].Question)
		}
		if q.plan != "" {
			if err := f.show.notes(q.plan); err != nil {
				return true, err
			}
		}
		return true, &Exit{Code: CodeNeedsPerson, Message: plain("chat " + string(f.id) + " " + what + "; answer it in the browser, or with holdfast chat --chat " +
			string(f.id) + " ANSWER")}
	}
	f.listen()
	return false, f.show.lines(q.prompt())
}

// lonely says whether nobody is there to be asked.
func (f *follower) lonely() bool {
	return f.command.json || !IsTerminal(f.command.std.In) || !IsTerminal(f.command.std.Err)
}

// openQuestion finds the newest Call that asks a person.
func (f *follower) openQuestion(kind chat.AskingKind) (*question, error) {
	tool := "ask_user_question"
	if kind == chat.AskingPlan {
		tool = "propose_plan"
	}
	for _, m := range slices.Backward(f.held.Messages) {
		for _, p := range slices.Backward(m.Content) {
			switch {
			case p.ToolName != tool:
			case p.Type == chat.PartToolResult && kind == chat.AskingPlan:
				var shown struct{ Plan string }
				err := json.Unmarshal(p.Result, &shown)
				return &question{call: p.CallID, plan: shown.Plan}, err
			case p.Type == chat.PartToolCall && kind == chat.AskingQuestion:
				list, err := chat.Questions(p.Args)
				return &question{call: p.CallID, list: list}, err
			}
		}
	}
	return nil, nil
}

// prompt is the next thing to ask.
func (q *question) prompt() string {
	if q.list == nil {
		return q.plan + "\nimplement it? [y, n to leave plan mode, or what to change] "
	}
	next := q.list[len(q.answers)]
	var b strings.Builder
	b.WriteString(next.Question)
	for i, o := range next.Options {
		b.WriteString("\n  " + strconv.Itoa(i+1) + "  " + o.Label)
		if o.Description != "" {
			b.WriteString(" (" + o.Description + ")")
		}
	}
	return b.String() + "\nyour answer: a number, or your own words: "
}

// reply takes a line for the open question and sends the answer once it is whole.
func (f *follower) reply(ctx context.Context, line string) (done bool, err error) {
	q := f.question
	line = strings.TrimSpace(line)
	if line == "" {
		return false, f.show.lines(q.prompt())
	}
	in := client.MessageSend{}
	act := ""
	switch {
	case q.list != nil:
		q.answers = append(q.answers, q.chosen(line))
		if len(q.answers) < len(q.list) {
			return false, f.show.lines(q.prompt())
		}
		in.Content = client.Text(q.message())
	case strings.EqualFold(line, "n") || strings.EqualFold(line, "no"):
		return true, f.api.UpdateChat(ctx, f.id, client.ChatUpdate{PlanMode: &act})
	case strings.EqualFold(line, "y") || strings.EqualFold(line, "yes"):
		in.Content, in.PlanMode = client.Text(implement), &act
	default:
		in.Content = client.Text(line)
	}
	f.question = nil
	_, err = f.api.Send(ctx, f.id, in)
	return false, err
}

// chosen gives the labels that numbers stand for; what is no list of them is an answer in own words.
func (q *question) chosen(line string) string {
	options := q.list[len(q.answers)].Options
	var labels []string
	for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > len(options) {
			return line
		}
		labels = append(labels, options[n-1].Label)
	}
	return strings.Join(labels, ", ")
}

// message puts the answers into words for the model; one question needs no repetition.
func (q *question) message() string {
	if len(q.list) == 1 {
		return q.answers[0]
	}
	lines := make([]string, len(q.list))
	for i, one := range q.list {
		lines[i] = one.Question + " " + q.answers[i]
	}
	return strings.Join(lines, "\n")
}

// relatives hands on what happens to the Chat's sub-agents.
func (f *follower) relatives(ctx context.Context, out chan<- client.Chat) error {
	for changes, err := range f.api.Watch(ctx) {
		if err != nil {
			return err
		}
		var news []client.Chat
		if changes.First {
			c, err := f.api.Chat(ctx, f.id)
			if err != nil {
				return err
			}
			news = c.Children
		}
		for _, e := range changes.Events {
			if e.Chat != nil && e.Chat.ParentChatID != nil && *e.Chat.ParentChatID == f.id {
				news = append(news, *e.Chat)
			}
		}
		for _, c := range news {
			select {
			case out <- c:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// relative takes what became of a sub-agent. After the Turn only what it asks keeps the command.
func (f *follower) relative(ctx context.Context, c *client.Chat) (done bool, err error) {
	if err := f.agent(ctx, c); err != nil || f.question != nil || !f.held.Status.Status.AtRest() {
		return false, err
	}
	return f.rested(ctx)
}

// needsPerson is the first sub-agent that waits for a person, nil for none.
func needsPerson(c *client.Chat) *client.Chat {
	for i := range c.Children {
		if c.Children[i].Status == chat.RequiresAction {
			return &c.Children[i]
		}
	}
	return nil
}

// agent notes what became of a sub-agent; what it asks is asked here, and where there is nobody it ends the command.
func (f *follower) agent(ctx context.Context, c *client.Chat) error {
	if f.agents[c.ID] == c.Status {
		return nil
	}
	f.agents[c.ID] = c.Status
	name := "sub-agent “" + c.Title + "”"
	switch {
	case c.Status == chat.RequiresAction && f.lonely():
		return &Exit{Code: CodeNeedsPerson, Message: plain(name + " waits for a person; answer it in the browser, in chat " + string(c.ID) + ", or run chat on a terminal")}
	case c.Status == chat.RequiresAction:
		return f.agentCards(ctx, c)
	case c.Status == chat.Failed && c.LastError != nil:
		return f.note(name + " failed: " + c.LastError.Message)
	case c.Status == chat.Running:
		return f.note(name + " works")
	case c.Status.AtRest():
		return f.note(name + " is done")
	}
	return nil
}

// atWork says that sub-agents go on after the Turn, or gives the exit code where one of them needs a person.
func (f *follower) atWork(c *client.Chat) error {
	if one := needsPerson(c); one != nil {
		return &Exit{Code: CodeNeedsPerson, Message: plain("sub-agent “" + one.Title + "” waits for a person; answer it in the browser, in chat " + string(one.ID) +
			", or run chat on a terminal")}
	}
	for i := range c.Children {
		if !c.Children[i].Status.AtRest() {
			if err := f.note("sub-agent “" + c.Children[i].Title + "” goes on by itself, in chat " + string(c.Children[i].ID)); err != nil {
				return err
			}
		}
	}
	return nil
}
