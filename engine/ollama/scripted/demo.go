package scripted

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"time"
)

// DemoName is the demo model's name on its server.
const DemoName = "holdfast-demo:latest"

// demoPace is about 60 pieces a second, as a small model on a good machine writes.
const demoPace = 16 * time.Millisecond

// Demo is the demo model: a small fixed program behind the protocol of a model. Asked for something in a workspace, it does
// a whole Turn with the real tools (list, read, a small true change, a harmless command) and reports what their results say.
// It says in every answer that it is scripted.
func Demo() Model {
	return Model{
		Name:          DemoName,
		Family:        "scripted-demo",
		ParameterSize: "0",
		Quantization:  "none",
		Pace:          demoPace,
		Answer:        demoAnswer,
	}
}

const (
	demoSelf = "I am the **scripted demo** of Holdfast, not a language model: a small fixed program that answers over the same " +
		"protocol as a real model. "
	demoHelp = "With a workspace attached, ask me for something, for example *add a --version flag and run the tests*. I will list the files, " +
		"read one, make one small change, run one command and tell you what came out. The tools, the files and the results are real; " +
		"only the thinking is not.\n\nFor real work choose a real model: pull or import one on the models page."
	demoNoTools = "I was offered no tools for files here, so there is nothing I could show you. "
)

var (
	smallTalk = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(hi|hello|hey|hallo|good (morning|evening|day)|thanks?|thank you|help|test|ping|who are you|what are you|what can you do|are you (real|there))\b.{0,20}$`)
	})
	wantsWork = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(add|change|fix|write|create|make|edit|run|build|implement|remove|rename|update|refactor|improve)\b`)
	})
	wantsTest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\btests?\b`) })
)

func demoAnswer(p *Prompt) Reply {
	user := strings.TrimSpace(p.User())
	switch {
	case p.advises():
		return demoAdvice(p)
	case p.checks():
		return Text(demoVerdict(p.Messages[len(p.Messages)-2].Content))
	case p.requested():
		return demoOwn(p)
	case len(p.Format) > 0:
		return Text(demoFormatted(p.Format, user))
	case strings.Contains(strings.ToLower(user), "summar") && p.answered():
		return Text(demoSummary(p))
	case smallTalk().MatchString(user):
		return demoSays("The person is only talking to me, so I say what I am.", demoSelf+demoHelp)
	case !p.Offers("list_files"):
		return demoSays("No tools for files are offered. I say so.", demoSelf+demoNoTools+demoHelp)
	}
	return newPlan(p).next()
}

func demoSays(thought, text string) Reply {
	return Reply{Frames: append(Thoughts(thought), Words(text)...)}
}

// demoFormatted answers a request for structured output: the one required property gets a text that fits its name.
func demoFormatted(format json.RawMessage, user string) string {
	var schema struct {
		Required []string `json:"required"`
	}
	out := map[string]string{}
	// A schema that cannot be read gets an empty object: the caller checks the answer anyway.
	_ = json.Unmarshal(format, &schema)
	for _, name := range schema.Required {
		switch name {
		case "title":
			out[name] = "Demo: " + firstWords(afterBlank(user), 5)
		case "status":
			out[name] = demoVerdict(user)
		case "summary":
			out[name] = demoLine(user)
		default:
			out[name] = "The scripted demo answered: " + firstWords(afterBlank(user), 12)
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// afterBlank drops the sentence that introduces a quoted text.
func afterBlank(s string) string {
	if _, after, found := strings.Cut(s, "\n\n"); found && strings.HasPrefix(s, "The person") {
		return after
	}
	return s
}

func firstWords(s string, n int) string {
	words := strings.Fields(s)
	return cutText(strings.Join(words[:min(n, len(words))], " "), 70)
}

func cutText(s string, runes int) string {
	r := []rune(s)
	if len(r) <= runes {
		return s
	}
	return string(r[:runes-1]) + "…"
}

// answered says whether the prompt holds an answer already.
func (p *Prompt) answered() bool {
	for _, m := range p.Messages {
		if m.Role == "assistant" {
			return true
		}
	}
	return false
}

// demoSummary says what was asked and done so far.
func demoSummary(p *Prompt) string {
	var b strings.Builder
	b.WriteString("Summary by the scripted demo, made from the messages alone.\n\nThe person asked:\n")
	for i, m := range p.Messages {
		if m.Role == "user" && i != p.task() {
			b.WriteString("- " + cutText(oneLine(m.Content), 200) + "\n")
		}
	}
	b.WriteString("\nCalls so far:\n")
	for _, m := range p.Messages {
		for _, c := range m.ToolCalls {
			b.WriteString("- " + c.Function.Name + " " + cutText(string(c.Function.Arguments), 120) + "\n")
		}
	}
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
