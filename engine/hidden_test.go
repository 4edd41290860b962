package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// served is a Tool of an MCP server.
type served struct {
	server, name, says string
	fields             []string
	ran                func(args json.RawMessage) chat.Result
}

func (s *served) Def() chat.ToolDef {
	properties := map[string]map[string]string{}
	for _, f := range s.fields {
		properties[f] = map[string]string{"type": "string"}
	}
	required := s.fields
	if required == nil {
		required = []string{}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	if err != nil {
		panic(err)
	}
	return chat.ToolDef{Name: s.server + "__" + s.name, Description: s.says, Schema: schema, Effect: chat.ClassEffect, Server: s.server}
}

func (s *served) Run(_ context.Context, _ chat.Env, args json.RawMessage) chat.Result {
	if s.ran == nil {
		return chat.Result{Content: s.name + " ran with " + string(args)}
	}
	return s.ran(args)
}

// crowdOf are n Tools of two servers: those that count sheep, and two that do something of their own.
func crowdOf(n int) []chat.Tool {
	out := []chat.Tool{
		&served{server: "forge", name: "create_issue", says: "Open a new issue in a repository.", fields: []string{"repository", "title"}},
		&served{server: "weather", name: "getForecast", says: "The weather of the coming days.", fields: []string{"city"}},
	}
	for i := len(out); i < n; i++ {
		server := []string{"forge", "weather"}[i%2]
		out = append(out, &served{server: server, name: fmt.Sprintf("sheep_%03d", i), says: fmt.Sprintf("Count the sheep of pasture %d.", i), fields: []string{"pasture"}})
	}
	return out
}

func windowed(tokens int64) func(*chat.ModelConfig) {
	return func(c *chat.ModelConfig) { c.ContextLimit = &tokens }
}

// offeredIn are the names of the definitions in a request.
func offeredIn(p scripted.Prompt) (out []string) {
	for _, d := range p.Tools {
		out = append(out, d.Function.Name)
	}
	return out
}

func servers(names []string) int {
	n := 0
	for _, name := range names {
		if strings.Contains(name, "__") {
			n++
		}
	}
	return n
}

// TestHiddenTools is case 40 of tools.md: behind find_tools stand 120 Tools in a window of 16k; those found can be called in the next Step,
// and one that was not found runs when its arguments fit.
func TestHiddenTools(t *testing.T) {
	r := newRig(t, setup{tools: crowdOf(120), config: windowed(16384), model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("find_tools", `{"query":"weather forecast for a city","limit":1}`)),
		scripted.Calls(toolCall("weather__getForecast", `{"city":"Oslo"}`)),
		scripted.Calls(toolCall("forge__create_issue", `{"repository":"holdfast"}`)),
		scripted.Calls(toolCall("forge__create_issue", `{"repository":"holdfast","title":"It rains"}`)),
		scripted.Calls(toolCall("find_tools", `{"query":"sheep of pasture 17","limit":"2"}`), toolCall("find_tools", `{"query":"xylophone"}`)),
		scripted.Text("It will rain."),
	)}})
	id := r.create("will it rain?")
	v := r.rest(id)
	all := r.prompts()
	if len(all) != 6 {
		t.Fatalf("%d requests:\n%s", len(all), transcript(v.Messages))
	}
	first := offeredIn(all[0])
	if servers(first) != 0 || !slices.Contains(first, "find_tools") {
		t.Errorf("the first request offers %v", first)
	}
	for i, want := range [][]string{nil, {"weather__getForecast"}, {"weather__getForecast"}, {"weather__getForecast"}, {"weather__getForecast"},
		{"weather__getForecast", "weather__sheep_017", "forge__sheep_002"}} {
		if got := offeredIn(all[i]); len(got) != len(first)+len(want) || !slices.Equal(got[:len(first)], first) || i < 5 && !slices.Equal(got[len(first):], want) ||
			i == 5 && !slices.Equal(got[len(first):len(first)+2], want[:2]) {
			t.Errorf("request %d offers %v", i, got)
		}
	}
	say := transcript(v.Messages)
	for _, want := range []string{
		`find_tools = {"tools":[{"name":"weather__getForecast","description":"The weather of the coming days.","schema":{"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"}}]`,
		`getForecast ran with {\"city\":\"Oslo\"}`,
		`create_issue ran with {\"repository\":\"holdfast\",\"title\":\"It rains\"}`,
		`There are 60 of forge, 60 of weather.`,
	} {
		if !strings.Contains(say, want) {
			t.Errorf("%s is not in\n%s", want, say)
		}
	}
	// The Call that did not fit was answered with what fits.
	if !strings.Contains(say, `title`) || !strings.Contains(say, `"title\" is missing`) {
		t.Errorf("nothing says what is missing:\n%s", say)
	}
	h := v.Chat.Turn.Hidden
	if h == nil || len(h.Servers) != 2 || h.Servers[0] != (chat.HiddenServer{Name: "forge", Tools: 60}) || h.SavedBytes < 10000 {
		t.Errorf("hidden are %+v", h)
	}
	// The next Turn begins with what was found.
	r.send(id, "and tomorrow?", "")
	r.rest(id)
	if got := offeredIn(r.prompts()[6]); len(got) != len(first)+3 {
		t.Errorf("the next turn offers %v", got)
	}
}

// TestFewToolsOfServersAreNotHidden, and many are also where the window is large.
func TestFewToolsOfServersAreNotHidden(t *testing.T) {
	for _, c := range []struct {
		tools, window int
		hidden        bool
	}{{10, 32768, false}, {40, 131072, false}, {41, 131072, true}} {
		r := newRig(t, setup{tools: crowdOf(c.tools), config: windowed(int64(c.window))})
		v := r.rest(r.create("hello"))
		got := offeredIn(r.prompts()[0])
		if slices.Contains(got, "find_tools") != c.hidden || servers(got) > 0 == c.hidden || (v.Chat.Turn.Hidden != nil) != c.hidden {
			t.Errorf("%d tools in %d: %v, %+v", c.tools, c.window, got, v.Chat.Turn.Hidden)
		}
	}
}

// TestNewestFindsAreKept: twelve of those that were found are offered, and a find that is made again counts as new.
func TestNewestFindsAreKept(t *testing.T) {
	var replies []scripted.Reply
	for i := range 13 {
		replies = append(replies, scripted.Calls(toolCall("find_tools", fmt.Sprintf(`{"query":"%03d","limit":1}`, i+2))))
		if i == 11 {
			replies = append(replies, scripted.Calls(toolCall("find_tools", `{"query":"002","limit":1}`)))
		}
	}
	r := newRig(t, setup{tools: crowdOf(120), config: windowed(131072), model: scripted.Model{Answer: answers(append(replies, scripted.Text("done"))...)}})
	r.rest(r.create("count"))
	all := r.prompts()
	got := offeredIn(all[len(all)-1])
	got = got[slices.Index(got, "find_tools")+1:]
	var want []string
	for i := range 13 {
		// 003 is the one whose last find is the oldest.
		if i != 1 {
			want = append(want, fmt.Sprintf("%s__sheep_%03d", []string{"forge", "weather"}[i%2], i+2))
		}
	}
	got = got[len(got)-min(12, len(got)):]
	if !slices.Equal(got, want) {
		t.Errorf("kept are %v", got)
	}
}

// TestHiddenToolsKeepThePrefix: inside a Turn each request's definitions and messages begin as those of the one before.
func TestHiddenToolsKeepThePrefix(t *testing.T) {
	r := newRig(t, setup{tools: crowdOf(60), model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("find_tools", `{"query":"forecast"}`)),
		scripted.Calls(toolCall("find_tools", `{"query":"issue"}`)),
		scripted.Text("done"))}})
	r.rest(r.create("look around"))
	var defs, messages [][]string
	for _, p := range r.prompts() {
		var d, m []string
		for _, one := range p.Tools {
			b, err := json.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			d = append(d, string(b))
		}
		for _, one := range p.Messages {
			b, err := json.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			m = append(m, string(b))
		}
		defs, messages = append(defs, d), append(messages, m)
	}
	if len(defs) != 3 {
		t.Fatalf("%d requests", len(defs))
	}
	for i := 1; i < len(defs); i++ {
		if len(defs[i]) != len(defs[i-1])+1 || !slices.Equal(defs[i][:len(defs[i-1])], defs[i-1]) {
			t.Errorf("definitions of request %d do not go on from the last ones", i)
		}
		if !slices.Equal(messages[i][:len(messages[i-1])], messages[i-1]) {
			t.Errorf("messages of request %d do not go on from the last ones", i)
		}
	}
}

// TestHiddenToolsAfterARestart: what was found stays found when the Turn goes on in another process.
func TestHiddenToolsAfterARestart(t *testing.T) {
	var once sync.Once
	began := make(chan struct{})
	hold := make(chan struct{})
	ask := &probe{name: "ask", run: func(ctx context.Context, _ chat.Env, _ json.RawMessage) chat.Result {
		once.Do(func() { close(began) })
		select {
		case <-ctx.Done():
			return chat.Result{Content: "cut", IsError: true}
		case <-hold:
			return chat.Result{Content: "told"}
		}
	}}
	r := newRig(t, setup{tools: append(crowdOf(60), ask), model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("find_tools", `{"query":"forecast","limit":1}`)),
		scripted.Calls(toolCall("ask", `{}`)),
		scripted.Text("done"))}})
	id := r.create("look around")
	<-began
	r.reopen()
	close(hold)
	r.start()
	v := r.rest(id)
	all := r.prompts()
	if got := offeredIn(all[len(all)-1]); !slices.Contains(got, "weather__getForecast") || v.Chat.Turn.Hidden == nil {
		t.Errorf("offered are %v:\n%s", got, transcript(v.Messages))
	}
}
