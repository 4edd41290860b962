package scripted

import (
	"strings"
)

// Marks of requests that are not a Turn's: how the appliance asks for advice and for a judgement.
const (
	adviceMark = "You advise another agent"
	checkMark  = "This is a check by the appliance"
)

// advises says whether the demo is asked as the advisor.
func (p *Prompt) advises() bool {
	return len(p.Messages) > 0 && p.Messages[0].Role == "system" && strings.Contains(p.Messages[0].Content, adviceMark)
}

// checks says whether the demo is asked to judge its own last message.
func (p *Prompt) checks() bool {
	return len(p.Messages) > 1 && strings.HasPrefix(p.Messages[len(p.Messages)-1].Content, checkMark)
}

// demoAdvice says what the conversation that was handed over holds, and a rule that is always sound.
func demoAdvice(p *Prompt) Reply {
	asked := p.Messages[len(p.Messages)-1].Content
	results, messages := 0, 0
	for _, m := range p.Messages[:len(p.Messages)-1] {
		if m.Role != "system" {
			messages++
		}
		if strings.HasPrefix(m.Content, "[Result of ") {
			results++
		}
	}
	return Reply{Frames: append(Thoughts("I am asked for advice. I say what I was shown and what always holds."), Words(
		"**Make the smallest change that one command can prove.** I am the scripted demo, so this rule is fixed; what I was shown is real: "+
			count(messages, "message")+" of the conversation, "+count(results, "result")+" of tools among them.\n\n"+
			"- Asked was: “"+cutText(oneLine(asked), 140)+"”\n"+
			"- A change in one place is easy to take back; a new dependency is not.\n"+
			"- Run the narrowest check right after it, and say what it printed.\n\n"+
			"Trade-off: a small change may need a second one later. That is cheaper than a large one that nobody can check.")...)}
}

// demoVerdict judges a message of the demo by what it says of itself.
func demoVerdict(final string) string {
	has := func(marks ...string) bool {
		for _, m := range marks {
			if strings.Contains(final, m) {
				return true
			}
		}
		return false
	}
	switch {
	case has("**failed**", "was refused", "did not run", "I could not", "that I cannot read"):
		return "update"
	case has("The steps below are fixed"):
		return "complete"
	case has("With a workspace attached, ask me"):
		return "question"
	}
	return "update"
}

// adviceStep asks the advisor once, alone, before a change.
func (p *plan) adviceStep() (Reply, bool) {
	if p.advice != nil || p.change != nil || !p.works() || !p.prompt.Offers("advisor") {
		return Reply{}, false
	}
	about := "in " + p.chosen
	if p.chosen == "" {
		about = "in a workspace of " + count(len(p.files), "file")
	}
	return step("A change comes next. An advisor is offered, so I ask first.", "Before I change anything I ask the advisor.", "advisor",
		map[string]any{"question": "I was asked: " + cutText(oneLine(p.user), 200) + ". I am about to make one change " + about + ". What should I watch for?"}), true
}

// demoLine sums up a message of the demo by the line that says what was done.
func demoLine(asked string) string {
	_, message, _ := strings.Cut(asked, "The message:\n\n")
	for _, mark := range []string{"- I changed `", "- I wrote `", "- I read `"} {
		for line := range strings.Lines(message) {
			if strings.HasPrefix(line, mark) {
				return cutText("Demo: "+strings.ReplaceAll(strings.TrimSpace(line[2:]), "`", ""), 100)
			}
		}
	}
	return "Demo: " + firstWords(strings.ReplaceAll(message, "*", ""), 10)
}
