package scripted

import "strings"

// requestMark begins what the appliance asks a Chat's own model beside its judgement.
const requestMark = "This is a request by the appliance"

// Small says which of the appliance's small generations is asked for: "title", "summary", "status", another name that the format has, or ""
// for a Step.
func (p *Prompt) Small() string {
	last := ""
	if n := len(p.Messages); n > 0 {
		last = p.Messages[n-1].Content
	}
	switch format := string(p.Format); {
	case strings.HasPrefix(last, checkMark):
		return "status"
	case strings.HasPrefix(last, requestMark) && strings.Contains(last, "title of 2 to 8 words"):
		return "title"
	case strings.HasPrefix(last, requestMark):
		return "summary"
	case strings.Contains(format, `"title"`):
		return "title"
	case strings.Contains(format, `"summary"`):
		return "summary"
	case strings.Contains(format, `"status"`):
		return "status"
	case format != "":
		return "other"
	}
	return ""
}

// demoOwn answers a title or a summary that is asked for behind the Chat's own messages.
func demoOwn(p *Prompt) Reply {
	if p.Small() == "title" {
		return Text("Demo: " + firstWords(p.firstUser(), 5))
	}
	final := ""
	if n := len(p.Messages); n > 1 {
		final = p.Messages[n-2].Content
	}
	return Text(demoLine("The message:\n\n" + final))
}

// requested says whether the demo is asked for a title or a summary of its own messages.
func (p *Prompt) requested() bool {
	n := len(p.Messages)
	return n > 0 && strings.HasPrefix(p.Messages[n-1].Content, requestMark)
}

// firstUser is what the person wrote first.
func (p *Prompt) firstUser() string {
next:
	for _, m := range p.Messages {
		if m.Role != "user" {
			continue
		}
		for _, n := range nudges {
			if strings.HasPrefix(m.Content, n) {
				continue next
			}
		}
		return m.Content
	}
	return ""
}
