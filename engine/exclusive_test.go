package engine_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

const (
	loneText = `{"error":"lone must be called by itself before action tools; no call of this batch was run. Call lone alone, then act on its result."}`
	skipText = `{"error":"this tool was skipped because lone must run alone; no call of this batch was run. Call lone by itself first, or repeat this call without it."}`
)

// results gives the stored Results in order, "!" before those that are flagged as failed.
func (r *rig) results(id chat.ID) []string {
	r.t.Helper()
	var out []string
	for _, m := range r.all(id) {
		if m.Role != chat.RoleTool {
			continue
		}
		p := m.Content[0]
		flag := ""
		if p.IsError {
			flag = "!"
		}
		out = append(out, flag+p.ToolName+" "+string(p.Result))
	}
	return out
}

// TestExclusiveTools runs batches of Calls that one exclusive Tool is in or not.
func TestExclusiveTools(t *testing.T) {
	lone, act, ghost := toolCall("lone", `{}`), toolCall("act", `{}`), toolCall("ghost", `{}`)
	for name, c := range map[string]struct {
		calls []scripted.Call
		want  []string
	}{
		// case 35
		"with another":       {[]scripted.Call{lone, act}, []string{"!lone " + loneText, "!act " + skipText}},
		"behind others":      {[]scripted.Call{act, act, lone}, []string{"!act " + skipText, "!act " + skipText, "!lone " + loneText}},
		"with bad arguments": {[]scripted.Call{lone, toolCall("act", `{"n":"x"}`)}, []string{"!lone " + loneText, "!act " + skipText}},
		// case 36
		"twice": {[]scripted.Call{lone, lone}, []string{"!lone " + loneText, "!lone " + loneText}},
		"two exclusive ones": {[]scripted.Call{toolCall("solo", `{}`), lone}, []string{
			`!solo {"error":"` + chat.TextExclusive("solo") + `"}`, "!lone " + loneText}},
		"alone":            {[]scripted.Call{lone}, []string{`lone {"output":"one"}`}},
		"unknown is none":  {[]scripted.Call{lone, ghost}, []string{`lone {"output":"one"}`, `!ghost {"error":"` + strings.ReplaceAll(chat.TextUnknown("ghost", append([]string{"lone", "solo", "act"}, chatTools...)), `"`, `\"`) + `"}`}},
		"none is involved": {[]scripted.Call{act, act}, []string{`act {"output":"two"}`, `act {"output":"two"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, setup{tools: []chat.Tool{instant("lone", "one"), instant("solo", "one"), instant("act", "two")}, exclusive: []string{"lone", "solo"},
					model: scripted.Model{Answer: answers(scripted.Calls(c.calls...), scripted.Text("done"))}})
				id := r.create("go")
				if v := r.rest(id); v.Chat.State != chat.Waiting {
					t.Errorf("the chat is %s", v.Chat.State)
				}
				if got := r.results(id); !slices.Equal(got, c.want) {
					t.Errorf("the results are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
				}
				if n := len(r.prompts()); n != 2 {
					t.Errorf("the model was asked %d times", n)
				}
			})
		})
	}
}

// TestAnExclusiveCallNeverWaitsBesideAnother: a Call that a person would be asked about is refused with its batch. case 37
func TestAnExclusiveCallNeverWaitsBesideAnother(t *testing.T) {
	asks := instant("asks", "two")
	asks.asks, asks.class = true, chat.ClassEffect
	r := newRig(t, setup{place: true, untrusted: true, tools: []chat.Tool{instant("lone", "one"), asks}, exclusive: []string{"lone"},
		model: scripted.Model{Answer: answers(scripted.Calls(toolCall("asks", `{}`), toolCall("lone", `{}`)), scripted.Text("done"))}})
	id := r.create("go")
	r.until(id, "rest, without a question", func(v engine.View) bool {
		if v.Chat.State == chat.RequiresAction {
			t.Fatal("a person was asked")
		}
		return v.Chat.State.AtRest()
	})
	if got, want := r.results(id), []string{"!asks " + skipText, "!lone " + loneText}; !slices.Equal(got, want) {
		t.Errorf("the results are %q", got)
	}
}

// TestAnEmptySetChangesNothing compares every byte to the model and in the store. case 38
func TestAnEmptySetChangesNothing(t *testing.T) {
	named := func(id, tool, args string) scripted.Call {
		return scripted.Call{ID: id, Name: tool, Args: json.RawMessage(args)}
	}
	bytesWith := func(exclusive []string) (out []byte) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, setup{tools: []chat.Tool{instant("lone", "one"), instant("act", "two")}, exclusive: exclusive, model: scripted.Model{Answer: answers(
				scripted.Calls(named("a", "lone", `{}`), named("b", "act", `{"n":1}`), named("c", "ghost", `{}`), named("d", "act", `{"n":"x"}`)),
				scripted.Calls(named("e", "lone", `{}`), named("f", "lone", `{}`)), scripted.Text("done"))}})
			id := r.create("go")
			r.rest(id)
			for _, q := range r.server.Requests("/api/chat") {
				out = append(append(out, q.Body...), '\n')
			}
			for _, m := range r.all(id) {
				m.ID, m.ChatID, m.CreatedBy, m.ModelConfigID = 0, "", "", ""
				b, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				out = append(append(out, b...), '\n')
			}
		})
		return out
	}
	without := bytesWith(nil)
	if with := bytesWith([]string{}); !bytes.Equal(with, without) {
		t.Error("an empty set changes bytes")
	}
	if with := bytesWith([]string{"lone"}); bytes.Equal(with, without) {
		t.Error("the comparison sees no difference where there is one")
	}
}

// TestAnInterruptMeetsARefusedBatch: the same Results are kept.
func TestAnInterruptMeetsARefusedBatch(t *testing.T) {
	r := newRig(t, setup{tools: []chat.Tool{instant("lone", "one"), instant("act", "two")}, exclusive: []string{"lone"},
		model: scripted.Model{Answer: answers(scripted.Calls(toolCall("lone", `{}`), toolCall("act", `{}`)), stalled(scripted.Words("thinking on")))}})
	id := r.create("go")
	r.until(id, "the second step", streamed("thinking"))
	r.interrupt(id)
	r.rest(id)
	if got, want := r.results(id), []string{"!lone " + loneText, "!act " + skipText}; !slices.Equal(got, want) {
		t.Errorf("the results are %q", got)
	}
}

// TestAnExclusiveCallBesideAClientsTool: the program is never asked. case 37
func TestAnExclusiveCallBesideAClientsTool(t *testing.T) {
	r := newRig(t, setup{model: scripted.Model{Answer: answers(scripted.Calls(toolCall("ring", `{}`), toolCall(chat.AdvisorTool, `{"question":"a?"}`)), scripted.Text("done"))}})
	r.advise(chat.AdvisorConfig{Enabled: true})
	id := r.declares(ringAndDial)
	r.until(id, "rest, without a question to the program", func(v engine.View) bool {
		if v.Chat.State == chat.RequiresAction {
			t.Fatal("the program was asked")
		}
		return v.Chat.State.AtRest()
	})
	want := []string{`!ring {"error":"` + chat.TextSkipped("advisor") + `"}`, `!advisor {"error":"` + chat.TextExclusive("advisor") + `"}`}
	if got := r.results(id); !slices.Equal(got, want) {
		t.Errorf("the results are %q", got)
	}
}
