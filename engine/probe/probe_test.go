package probe

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/ollama"
	"holdfast/engine/ollama/scripted"
)

// tested runs the test against a model behind the real adapter and wire.
func tested(t *testing.T, m scripted.Model, window int64) (chat.Probe, []chat.Progress, error) {
	t.Helper()
	m.Name = "m:latest"
	s := scripted.New(scripted.Options{Models: []scripted.Model{m}})
	running := scripted.Memory(s)
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(running.URL)
	if err != nil {
		t.Fatal(err)
	}
	calls := call.New(ollama.New(ollama.Options{URL: u, Client: running.Client, Memory: func(context.Context) int64 { return 0 }}), call.Options{Attempts: 2})
	var seen []chat.Progress
	in := Input{Config: chat.ModelConfig{Model: "m:latest", Provider: chat.ProviderOllama, Tools: chat.ToolsAuto, Capabilities: m.Capabilities}, Window: window}
	probe, err := Run(t.Context(), calls, in, func(p chat.Progress) { seen = append(seen, p) })
	return probe, seen, err
}

var secretWord = regexp.MustCompile(`secret word is (\w+)\.`)

// able answers every question well; what it lacks is taken away by the tests.
func able(p *scripted.Prompt) scripted.Reply {
	user := p.Messages[len(p.Messages)-1].Content
	system := ""
	if p.Messages[0].Role == "system" {
		system = p.Messages[0].Content
	}
	lookUp := func(city string) scripted.Call {
		return scripted.Call{Name: weather.Name, Args: []byte(`{"city":"` + city + `"}`)}
	}
	switch {
	case strings.Contains(user, "numbers from one"):
		return scripted.Reply{Frames: scripted.Words("one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve")}
	case strings.Contains(user, "secret word"):
		return scripted.Text(secretWord.FindStringSubmatch(user)[1])
	case strings.Contains(user, "both up") && p.Offers(weather.Name):
		return scripted.Calls(lookUp("Paris"), lookUp("Oslo"))
	case strings.Contains(user, "in Paris") && p.Offers(weather.Name):
		return scripted.Calls(lookUp("Paris"))
	case strings.Contains(user, "in Paris") && len(p.Format) > 0:
		return scripted.Text(`{"text": "", "calls": [{"name": "look_up_weather", "arguments": {"city": "Paris"}}]}`)
	case strings.Contains(user, "in Paris") && strings.Contains(system, "# Calling tools"):
		return scripted.Text("I look.\n```json\n{\"name\": \"look_up_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```")
	case len(p.Format) > 0:
		return scripted.Text(`{"colour": "green", "legs": 4}`)
	case strings.Contains(user, "a ball"):
		return scripted.Reply{Frames: append(scripted.Thoughts("half of one"), scripted.Words("0.5")...)}
	case strings.Contains(user, "picture"):
		return scripted.Text("Red.")
	}
	return scripted.Text("yes")
}

func all() []string { return []string{"completion", "tools", "thinking", "vision"} }

func states(p chat.Probe) string {
	var out []string
	for _, f := range p.Findings {
		out = append(out, f.Name+" "+string(f.State))
	}
	return strings.Join(out, ", ")
}

const allWell = "streaming yes, tools yes, parallel_calls yes, tools_as_text yes, json yes, tools_as_json yes, thinking yes, vision yes, window yes"

func TestAModelThatCanEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, seen, err := tested(t, scripted.Model{Capabilities: all(), Answer: able, Pace: 100 * time.Millisecond, Reads: 200}, 16384)
		if err != nil {
			t.Fatal(err)
		}
		if got := states(p); got != allWell {
			t.Errorf("found %s", got)
		}
		if p.RealWindow != 16384 || p.PrefillSpeed < 195 || p.PrefillSpeed > 205 || p.EvalSpeed < 9 || p.EvalSpeed > 12 {
			t.Errorf("window %d, reads %.1f, writes %.1f", p.RealWindow, p.PrefillSpeed, p.EvalSpeed)
		}
		if len(seen) != len(questions)+1 || seen[0].Status != "streaming" || seen[len(seen)-1].Completed != int64(len(questions)-1) ||
			!strings.Contains(seen[len(seen)-1].Status, "reading 14742 tokens") {
			t.Errorf("shown was %+v", seen)
		}
	})
}

func TestWhatAModelLacks(t *testing.T) {
	without := func(from func(*scripted.Prompt) scripted.Reply, when func(*scripted.Prompt) bool, reply scripted.Reply) func(*scripted.Prompt) scripted.Reply {
		return func(p *scripted.Prompt) scripted.Reply {
			if when(p) {
				return reply
			}
			return from(p)
		}
	}
	offered := func(p *scripted.Prompt) bool { return len(p.Tools) > 0 }
	asks := func(text string) func(*scripted.Prompt) bool {
		return func(p *scripted.Prompt) bool { return strings.Contains(p.Messages[len(p.Messages)-1].Content, text) }
	}
	shaped := func(p *scripted.Prompt) bool { return len(p.Format) > 0 }
	fenced := scripted.Text("```json\n{\"name\": \"look_up_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```")
	for name, c := range map[string]struct {
		model  scripted.Model
		want   []string
		detail string
	}{
		"no tools in the template": {scripted.Model{Capabilities: []string{"completion"}, Answer: able},
			[]string{"tools no", "parallel_calls skipped", "tools_as_text yes", "thinking no", "vision no"}, "says that the model has no tools"},
		"calls as text":        {scripted.Model{Answer: without(able, offered, fenced)}, []string{"tools no", "tools_as_text yes"}, "they are read from there"},
		"no call at all":       {scripted.Model{Answer: without(able, offered, scripted.Text("It rains."))}, []string{"tools no"}, "It made no call."},
		"another name":         {scripted.Model{Answer: without(able, offered, scripted.Calls(scripted.Call{Name: "weather", Args: []byte(`{}`)}))}, []string{"tools no"}, "which does not exist"},
		"one call of two":      {scripted.Model{Answer: without(able, asks("both up"), scripted.Calls(scripted.Call{Name: weather.Name, Args: []byte(`{"city":"Paris"}`)}))}, []string{"tools yes", "parallel_calls no"}, "no call for Oslo"},
		"in one piece":         {scripted.Model{Answer: without(able, asks("numbers"), scripted.Reply{Frames: []scripted.Frame{{Text: "one, two"}}})}, []string{"streaming no"}, "one piece"},
		"no shape":             {scripted.Model{Answer: without(able, shaped, scripted.Text("grass is green"))}, []string{"json no", "tools_as_json skipped"}, "not JSON"},
		"another shape":        {scripted.Model{Answer: without(able, shaped, scripted.Text(`{"color":"green"}`))}, []string{"json no"}, "not the shape"},
		"thinks always":        {scripted.Model{Capabilities: all(), Answer: without(able, asks("a ball"), scripted.Text("<think>hm</think>0.5"))}, []string{"thinking yes"}, "cannot be switched off"},
		"sees another colour":  {scripted.Model{Capabilities: all(), Answer: without(able, asks("picture"), scripted.Text("Blue."))}, []string{"vision no"}, "it said: Blue."},
		"reads less":           {scripted.Model{Answer: able, Cuts: 4096}, []string{"window no"}, "read 4096 of"},
		"forgets the begin":    {scripted.Model{Answer: without(able, asks("secret word"), scripted.Text("I do not know."))}, []string{"window yes"}, "is forgotten"},
		"too slow to read all": {scripted.Model{Answer: able, Reads: 20}, []string{"window yes"}, "At least 3"},
		"one question fails":   {scripted.Model{Answer: without(able, asks("both up"), scripted.RunnerFailed())}, []string{"tools yes", "parallel_calls failed", "window yes"}, "The model server failed."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _, err := tested(t, c.model, 16384)
				if err != nil {
					t.Fatal(err)
				}
				got, details := states(p), ""
				for _, f := range p.Findings {
					details += f.Detail + "\n"
				}
				for _, want := range c.want {
					if !strings.Contains(got, want) {
						t.Errorf("found %s, want %s", got, want)
					}
				}
				if !strings.Contains(details, c.detail) {
					t.Errorf("no %q in %s", c.detail, details)
				}
			})
		})
	}
}

func TestATestThatCannotGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e *chat.Error
		_, seen, err := tested(t, scripted.Model{Answer: func(*scripted.Prompt) scripted.Reply { return scripted.OutOfMemory() }}, 8192)
		if !errors.As(err, &e) || e.Kind != chat.KindOutOfMemory || len(seen) != 1 {
			t.Errorf("%v after %d questions", err, len(seen))
		}
	})
}
