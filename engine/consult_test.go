package engine_test

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/site"
	"holdfast/kv"
)

// consulted says whether a request is a consultation, by the last section of its system text.
func consulted(p *scripted.Prompt) bool {
	return len(p.Messages) > 0 && strings.Contains(p.Messages[0].Content, "You advise another agent")
}

// asking is a model whose n-th Step gets the n-th reply; as the advisor it gives the advice, reply by reply.
func asking(advice []scripted.Reply, steps ...scripted.Reply) scripted.Model {
	step, advise := answers(steps...), answers(advice...)
	return scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if consulted(p) {
			return advise(p)
		}
		return step(p)
	}}
}

func advisorCall(question string) scripted.Reply {
	args, err := json.Marshal(map[string]string{"question": question})
	if err != nil {
		panic(err)
	}
	return scripted.Calls(toolCall(chat.AdvisorTool, string(args)))
}

// advise stores the advisor's configuration.
func (r *rig) advise(c chat.AdvisorConfig) {
	r.t.Helper()
	r.update(func(tx *kv.Tx) error { return tx.PutSite(site.AdvisorKey, c) })
}

// advice gives what the advisor answered, in order.
func (r *rig) advice(id chat.ID) []chat.AdvisorResult {
	r.t.Helper()
	var out []chat.AdvisorResult
	for _, m := range r.all(id) {
		if m.Role != chat.RoleTool || m.Content[0].ToolName != chat.AdvisorTool || m.Content[0].IsError {
			continue
		}
		var one chat.AdvisorResult
		if err := json.Unmarshal(m.Content[0].Result, &one); err != nil {
			r.t.Fatal(err)
		}
		out = append(out, one)
	}
	return out
}

// consultations are the requests to the advisor so far.
func (r *rig) consultations() []scripted.Prompt {
	return slices.DeleteFunc(r.prompts(), func(p scripted.Prompt) bool { return !consulted(&p) })
}

// TestCase39AdviceStreamsIntoItsCall also looks at the price, the time and the usage entry.
func TestCase39AdviceStreamsIntoItsCall(t *testing.T) {
	price, usage := "2", ""
	r := newRig(t, setup{config: func(c *chat.ModelConfig) { c.PriceInput, c.PriceOutput = &price, &price },
		model: asking([]scripted.Reply{{Frames: append(scripted.Thoughts("hm"), scripted.Words("Do the small thing first.")...)}},
			scripted.Reply{Frames: append(scripted.Words("I ask."), advisorCall("  Which first?  ").Frames...)}, scripted.Text("done"))})
	r.advise(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: 3, ModelConfigID: chat.ZeroModelConfig})
	id := r.create("go")
	r.rest(id)
	got := r.advice(id)
	if len(got) != 1 || got[0].Type != "advice" || got[0].Advice != "Do the small thing first." || got[0].AdvisorModel != "m:latest" || got[0].RemainingUses != 2 {
		t.Fatalf("%+v", got)
	}
	for _, m := range r.all(id) {
		if m.Role == chat.RoleTool && string(m.Content[0].Detail) != `{"uses":3}` {
			t.Errorf("the detail is %s", m.Content[0].Detail)
		}
	}
	if u := got[0].Usage; u == nil || u.InputTokens == nil || *u.InputTokens == 0 || u.OutputTokens == nil || u.CostMicros == nil || *u.CostMicros == 0 {
		t.Errorf("usage %+v", u)
	}
	r.update(func(tx *kv.Tx) error {
		all, err := tx.Usage(id)
		for _, u := range all {
			usage += u.Kind + " "
			if u.Kind == chat.UsageAdvisor && (*u.CostMicros != *got[0].Usage.CostMicros || u.Model != "m:latest") {
				t.Errorf("the entry is %+v", u)
			}
		}
		return err
	})
	if usage != "turn advisor turn " {
		t.Errorf("usage entries: %s", usage)
	}
	asked := r.consultations()
	last := asked[0].Messages[len(asked[0].Messages)-1]
	if last.Role != "user" || last.Content != "Which first?" || len(asked[0].Tools) != 0 {
		t.Errorf("asked was %+v", last)
	}
}

// TestAReaderSeesTheAdviceGrow: text is there before the Result, and a retry empties it.
func TestAReaderSeesTheAdviceGrow(t *testing.T) {
	broken := scripted.Reply{Frames: scripted.Words("wrong words"), End: scripted.EndCut}
	r := newRig(t, setup{model: asking([]scripted.Reply{broken, stalled(scripted.Words("better words"))}, advisorCall("which?"), scripted.Text("done"))})
	r.advise(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: 4})
	id := r.create("go")
	v := r.until(id, "the second attempt", func(v engine.View) bool { return strings.Contains(liveOf(v), "better words") })
	if live := liveOf(v); strings.Contains(live, "wrong") {
		t.Errorf("the card shows %q", live)
	}
	p := v.Draft.Parts[len(v.Draft.Parts)-1]
	if p.Voided != 1 || p.Type != chat.PartToolResult || v.Draft.Consults == nil || v.Draft.Consults.Model != "m:latest" || v.Draft.Consults.Other ||
		v.Draft.Consults.Uses != 4 || v.Draft.Consults.Left != 3 {
		t.Errorf("the part is %+v, consults %+v", p, v.Draft.Consults)
	}
	r.interrupt(id)
	r.rest(id)
	if got := r.results(id); len(got) != 1 || got[0] != `!advisor {"error":"`+chat.TextCut+`"}` {
		t.Errorf("kept is %q", got)
	}
}

func liveOf(v engine.View) string {
	if v.Draft == nil {
		return ""
	}
	out := ""
	for _, p := range v.Draft.Parts {
		out += p.Live
	}
	return out
}

// TestCase40BadQuestionsCostNothing.
func TestCase40BadQuestionsCostNothing(t *testing.T) {
	r := newRig(t, setup{model: asking([]scripted.Reply{scripted.Text("advice")}, advisorCall("   "), advisorCall(strings.Repeat("€", 2001)),
		advisorCall(strings.Repeat("€", 2000)), scripted.Text("done"))})
	r.advise(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: 1})
	id := r.create("go")
	r.rest(id)
	got := r.results(id)
	if len(got) != 3 || got[0] != `!advisor {"error":"question is required"}` || got[1] != `!advisor {"error":"question is too long: at most 2000 characters"}` {
		t.Errorf("%q", got)
	}
	if a := r.advice(id); len(a) != 1 || a[0].Type != "advice" || a[0].RemainingUses != 0 || len(r.consultations()) != 1 {
		t.Errorf("%+v after %d consultations", a, len(r.consultations()))
	}
}

// TestCase41AFailedConsultationGivesTheUseBack.
func TestCase41AFailedConsultationGivesTheUseBack(t *testing.T) {
	refused := scripted.Reply{Status: 404, Error: `model "m" not found`}
	mute := scripted.Reply{Frames: scripted.Thoughts("only thoughts")}
	r := newRig(t, setup{model: asking([]scripted.Reply{refused, mute, scripted.Text("at last")}, advisorCall("a?"), advisorCall("b?"), advisorCall("c?"), scripted.Text("done"))})
	r.advise(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: 1})
	id := r.create("go")
	if v := r.rest(id); v.Chat.State == chat.Failed {
		t.Fatalf("a failed consultation ended the turn: %v", v.Chat.LastError)
	}
	got := r.advice(id)
	if len(got) != 3 {
		t.Fatalf("%+v", r.results(id))
	}
	if got[0].Type != "error" || got[0].RemainingUses != 1 || !strings.Contains(got[0].Error, "m:latest") || got[0].Usage != nil {
		t.Errorf("the refused one is %+v", got[0])
	}
	if got[1].Type != "error" || got[1].RemainingUses != 1 || !strings.HasPrefix(got[1].Error, "advisor produced no text output") || got[1].Usage == nil {
		t.Errorf("the mute one is %+v", got[1])
	}
	if got[2].Type != "advice" || got[2].RemainingUses != 0 {
		t.Errorf("the last is %+v", got[2])
	}
}

// TestAServerThatFailsHoldsUpNoAdviceForLong: advice is optional, so a failing model server is asked three times, and the Turn goes on without.
func TestAServerThatFailsHoldsUpNoAdviceForLong(t *testing.T) {
	r := newRig(t, setup{model: asking([]scripted.Reply{{Status: 500, Error: "boom"}}, advisorCall("which?"), scripted.Text("done"))})
	r.advise(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: 1})
	id := r.create("go")
	if v := r.rest(id); v.Chat.State == chat.Failed {
		t.Fatalf("a failed consultation ended the turn: %v", v.Chat.LastError)
	}
	if got := r.advice(id); len(got) != 1 || got[0].Type != "error" || got[0].Error != "The model server failed." || got[0].RemainingUses != 1 {
		t.Errorf("%+v", got)
	}
	if n := len(r.consultations()); n != 3 {
		t.Errorf("the server was asked %d times", n)
	}
}

// TestCase42TheLimitHoldsForATurn, also over a restart; the next Turn starts full.
func TestCase42TheLimitHoldsForATurn(t *testing.T) {
	slow, running, release := blocked("slow", chat.ClassRead, false)
	r := newRig(t, setup{tools: []chat.Tool{slow}, model: asking([]scripted.Reply{scripted.Text("advice")}, advisorCall("a?"), scripted.Calls(toolCall("slow", `{}`)),
		advisorCall("b?"), scripted.Text("done"), advisorCall("c?"), scripted.Text("done"))})
	r.advise(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: 1})
	id := r.create("go")
	<-running
	r.reopen()
	close(release)
	r.start()
	r.rest(id)
	got := r.results(id)
	limit := `advisor {"type":"limit_reached","advice":"The advisor cannot be consulted again in this turn. Continue with your own judgement.","advisor_model":"m:latest","remaining_uses":0}`
	if !slices.Contains(got, limit) || len(r.consultations()) != 1 {
		t.Errorf("%d consultations, %q", len(r.consultations()), got)
	}
	r.send(id, "again", "")
	r.until(id, "the next turn's rest", func(v engine.View) bool { return v.Chat.State.AtRest() && len(v.Messages) > 8 })
	if a := r.advice(id); a[len(a)-1].Type != "advice" {
		t.Errorf("the next turn got %+v", a)
	}
	// Both Turns are counted once, the first of them as one that reached the limit; the restart in its middle counts nothing twice.
	days := r.advised()
	if len(days) != 1 || days[0].UserID != r.who.UserID || days[0].Turns != 2 || days[0].Limited != 1 || len(days[0].TookMS) != 2 {
		t.Errorf("counted is %+v", days)
	}
}

// advised are the sums about the advisor in the store.
func (r *rig) advised() (out []*chat.AdvisedDay) {
	r.t.Helper()
	r.update(func(tx *kv.Tx) (err error) {
		out, err = tx.Advised("", 0, chat.DayOf(time.Now())+1)
		return err
	})
	return out
}

// TestWhatIsNoConsultationIsNotCounted: refused questions, and a Turn that asks nobody.
func TestWhatIsNoConsultationIsNotCounted(t *testing.T) {
	r := newRig(t, setup{model: asking(nil, advisorCall(" "), scripted.Text("done"), scripted.Text("done"))})
	r.advise(chat.AdvisorConfig{Enabled: true})
	r.rest(r.create("go"))
	r.rest(r.create("go"))
	if days := r.advised(); len(days) != 0 {
		t.Errorf("counted is %+v", days[0])
	}
}

// wordy is a Tool whose definition takes all of a small window.
type wordy struct{ *probe }

func (w wordy) Def() chat.ToolDef {
	d := w.probe.Def()
	d.Description = strings.Repeat("wordy ", 2800)
	return d
}

// TestCase43AllThreeOrNone looks at the bytes that reach the model server.
func TestCase43AllThreeOrNone(t *testing.T) {
	for name, c := range map[string]struct {
		cfg   chat.AdvisorConfig
		child bool
		tools string
		// window is the model's, 0 for a large one.
		window int64
		want   bool
	}{
		"enabled":                    {cfg: chat.AdvisorConfig{Enabled: true}, want: true},
		"never written":              {},
		"disabled":                   {cfg: chat.AdvisorConfig{MaxUsesPerRun: 3}},
		"a child":                    {cfg: chat.AdvisorConfig{Enabled: true}, child: true},
		"negative uses":              {cfg: chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: -1}},
		"negative tokens":            {cfg: chat.AdvisorConfig{Enabled: true, MaxOutputTokens: -1}},
		"a model without tools":      {cfg: chat.AdvisorConfig{Enabled: true}, tools: "off"},
		"no room for its definition": {cfg: chat.AdvisorConfig{Enabled: true}, window: 16400},
		"definitions in the text":    {cfg: chat.AdvisorConfig{Enabled: true}, tools: "text", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := prepareRig(t, setup{tools: []chat.Tool{instant("act", "two"), wordy{instant("wordy", "three")}}, config: func(m *chat.ModelConfig) {
				if c.tools != "" {
					m.Tools = c.tools
				}
				if c.window > 0 {
					m.ContextLimit = &c.window
				}
			}, model: asking([]scripted.Reply{scripted.Text("advice")},
				scripted.Calls(toolCall(chat.AdvisorTool, `{"question":"a?"}`), toolCall("act", `{}`)), scripted.Text("done"))})
			r.advise(c.cfg)
			var id chat.ID
			if c.child {
				id = r.child()
				r.start()
				r.send(id, "go", "")
			} else {
				id = r.create("go")
				r.start()
			}
			r.rest(id)
			first := r.prompts()[0]
			body := string(r.server.Requests("/api/chat")[0].Body)
			if got := strings.Contains(first.Messages[0].Content, "<advisor-guidance>"); got != c.want {
				t.Errorf("guidance: %v", got)
			}
			if got := strings.Contains(body, "Ask a stronger advisor for strategy"); got != c.want {
				t.Errorf("definition: %v", got)
			}
			exclusive := slices.ContainsFunc(r.results(id), func(s string) bool { return strings.Contains(s, "advisor must be called by itself") })
			if c.tools == "" && exclusive != c.want {
				t.Errorf("exclusive: %v in %q", exclusive, r.results(id))
			}
			if !c.want && strings.Contains(body, "advisor") {
				t.Errorf("the request speaks of an advisor: %s", body)
			}
		})
	}
}

// child puts a Chat at rest below another one into the store.
func (r *rig) child() chat.ID {
	r.t.Helper()
	root := r.create("the parent")
	r.interrupt(root)
	id := chat.ID(newID())
	r.update(func(tx *kv.Tx) error {
		now := time.Now().UTC()
		return tx.PutChat(&chat.Chat{ID: id, OwnerID: r.who.UserID, ParentID: root, RootID: root, Title: "a child", State: chat.Waiting, Version: 1,
			ModelConfigID: r.config.ID, CreatedAt: now, UpdatedAt: now})
	})
	return id
}

// TestCase45TheHandoff looks at the nested request on the wire.
func TestCase45TheHandoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := []scripted.Reply{}
		for range 30 {
			steps = append(steps, scripted.Calls(toolCall("act", `{}`)), scripted.Text("short"))
		}
		steps[29] = scripted.Reply{Frames: append(append(scripted.Thoughts("I weigh it."), scripted.Words("Before I act:")...), advisorCall("which?").Frames...)}
		r := newRig(t, setup{tools: []chat.Tool{instant("act", "two")}, model: asking([]scripted.Reply{scripted.Text("advice")}, steps...),
			config: func(m *chat.ModelConfig) { m.Capabilities = []string{"tools", "thinking"} }})
		r.advise(chat.AdvisorConfig{Enabled: true, MaxOutputTokens: 100, ReasoningEffort: "high"})
		id := r.create("message")
		for range 20 {
			r.rest(id)
			if len(r.consultations()) > 0 {
				break
			}
			r.send(id, "message", "")
		}
		r.rest(id)
		all := r.consultations()
		if len(all) != 1 {
			t.Fatalf("%d consultations", len(all))
		}
		p := all[0]
		system := p.Messages[0].Content
		if p.Messages[0].Role != "system" || !strings.HasPrefix(system, "You are Holdfast") || strings.Contains(system, "advisor-guidance") ||
			!strings.HasSuffix(system, "No greeting, no praise, no repetition of the question.") || !strings.Contains(system, chat.TextNoWorkspace) {
			t.Errorf("the system text is %q", system)
		}
		rest := p.Messages[1:]
		if len(rest) != 22 {
			t.Fatalf("%d messages", len(rest))
		}
		if now := rest[20]; now.Role != "assistant" || now.Content != "[Reasoning in this step]\nI weigh it.\n\n[Written in this step]\nBefore I act:" {
			t.Errorf("the step is %+v", now)
		}
		if q := rest[21]; q.Role != "user" || q.Content != "which?" {
			t.Errorf("the question is %+v", q)
		}
		notes := ""
		for i, m := range p.Messages {
			if m.Role == "tool" || len(m.ToolCalls) > 0 || m.Role == "system" && i > 0 {
				t.Errorf("message %d is %+v", i, m)
			}
			notes += m.Content + "\n"
		}
		if !strings.Contains(notes, "[Called act with {}]") || !strings.Contains(notes, "[Result of act]\n") {
			t.Errorf("the notes are %s", notes)
		}
		if p.Options.NumPredict != 100 || p.Options.NumCtx != 32768 || len(p.Tools) != 0 || string(p.Think) != "true" {
			t.Errorf("options %+v, think %s", p.Options, p.Think)
		}
	})
}

// TestAnotherModelAdvises: its own window and price count, and where it is gone the Chat's own is asked.
func TestAnotherModelAdvises(t *testing.T) {
	r := newRig(t, setup{model: asking([]scripted.Reply{scripted.Text("from the chat's own")}, advisorCall("a?"), scripted.Text("done"), advisorCall("b?"), scripted.Text("done")),
		others: []scripted.Model{{Name: "wise:latest", Answer: func(*scripted.Prompt) scripted.Reply { return scripted.Text("from another") }}}})
	var wise chat.ModelConfig
	r.update(func(tx *kv.Tx) error {
		all, err := tx.ModelConfigs()
		for _, c := range all {
			if c.Model == "wise:latest" {
				limit := int64(4096)
				c.ContextLimit, wise = &limit, *c
				return tx.PutModelConfig(c)
			}
		}
		return err
	})
	r.advise(chat.AdvisorConfig{Enabled: true, ModelConfigID: wise.ID})
	id := r.create("go")
	r.rest(id)
	p := r.consultations()[0]
	if p.Model != "wise:latest" || p.Options.NumCtx != 4096 || p.Options.NumPredict > 2048 {
		t.Errorf("asked was %s with %+v", p.Model, p.Options)
	}
	r.update(func(tx *kv.Tx) error {
		wise.Enabled = false
		return tx.PutModelConfig(&wise)
	})
	r.send(id, "again", "")
	r.until(id, "the second advice", func(v engine.View) bool { return v.Chat.State.AtRest() && len(r.consultations()) > 1 })
	got := r.advice(id)
	if len(got) != 2 || got[0].Advice != "from another" || got[0].AdvisorModel != "wise:latest" || got[1].Advice != "from the chat's own" || got[1].AdvisorModel != "m:latest" {
		t.Errorf("%+v", got)
	}
}

// TestTheDemoShowsAdvisorAndVerdict: the built-in demo model consults, is consulted and is judged over the same wire as any model.
func TestTheDemoShowsAdvisorAndVerdict(t *testing.T) {
	demo := scripted.Demo()
	demo.Pace = 0
	r := newRig(t, setup{place: true, judged: true, model: demo})
	r.write("README.md", "# Things\n\nMany.\n")
	r.advise(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: 3})
	id := r.create("make it better")
	v := r.rest(id)
	if v.Chat.State != chat.Completed {
		t.Errorf("the chat is %s: %v\n%s", v.Chat.State, v.Chat.LastError, transcript(v.Messages))
	}
	got := r.advice(id)
	if len(got) != 1 || got[0].Type != chat.AdviceGiven || got[0].RemainingUses != 2 || !strings.Contains(got[0].Advice, "I was asked: make it better") {
		t.Errorf("%+v", got)
	}
	if last := chat.PlainText(v.Messages[len(v.Messages)-1].Content); !strings.Contains(last, "The advisor said: Make the smallest change") {
		t.Error(last)
	}
	talk := r.create("hello")
	if v := r.rest(talk); v.Chat.State != chat.Waiting {
		t.Errorf("small talk is %s", v.Chat.State)
	}
}

// TestTheAdvisorIsCountedByName: calls and refused ones carry the tool label advisor; what no Tool has is unknown. case 78
func TestTheAdvisorIsCountedByName(t *testing.T) {
	m := metric.New()
	r := newRig(t, setup{metrics: m, tools: []chat.Tool{instant("act", "two")}, model: asking([]scripted.Reply{scripted.Text("advice")}, advisorCall("a?"),
		scripted.Calls(toolCall(chat.AdvisorTool, `{"question":"b?"}`), toolCall("act", `{}`), toolCall("ghost", `{}`)), scripted.Text("done"))})
	r.advise(chat.AdvisorConfig{Enabled: true})
	r.rest(r.create("go"))
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`holdfast_tool_calls_total{tool="advisor"} 2`, `holdfast_tool_errors_total{tool="advisor"} 1`, `holdfast_tool_errors_total{tool="act"} 1`,
		`holdfast_tool_errors_total{tool="unknown"} 1`} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
}
