package engine_test

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/notice"
	"holdfast/engine/ollama/scripted"
)

// scrape gives the lines of the metrics.
func scrape(t *testing.T, m *metric.Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return "\n" + w.Body.String()
}

// case 78: what servers and models call things is no label.
func TestCase78ToolLabelsAreBounded(t *testing.T) {
	m := metric.New()
	r := newRig(t, setup{metrics: m, tools: []chat.Tool{instant("files__list_secret_name", "x"), instant("probe", "y")},
		model: asking([]scripted.Reply{scripted.Text("Do it.")}, advisorCall("How?"), scripted.Calls(toolCall("files__list_secret_name", "{}")),
			scripted.Calls(toolCall("no_such_secret_name", "{}")), scripted.Calls(toolCall("probe", "{}")), scripted.Text("Done."))})
	r.advise(chat.AdvisorConfig{Enabled: true, MaxUsesPerRun: 3})
	r.rest(r.create("go"))
	body := scrape(t, m)
	for _, line := range []string{`holdfast_tool_calls_total{tool="advisor"} 1`, `holdfast_tool_calls_total{tool="mcp"} 1`, `holdfast_tool_calls_total{tool="unknown"} 1`,
		`holdfast_tool_calls_total{tool="probe"} 1`, `holdfast_tool_errors_total{tool="unknown"} 1`, `holdfast_tool_seconds_count{tool="mcp"} 1`} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(body, "secret_name") {
		t.Error("a name from outside is a label")
	}
}

func TestTurnsAndPromptsAreCounted(t *testing.T) {
	m := metric.New()
	r := newRig(t, setup{metrics: m, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch p.User() {
		case "stall":
			return stalled(scripted.Words("I begin"))
		case "fail":
			return scripted.Reply{Status: 404, Error: "model not found"}
		}
		return scripted.Text("Hello.")
	}}})
	id := r.create("hello")
	r.rest(id)
	r.send(id, "stall", "")
	r.until(id, "the stalled answer", streamed("I begin"))
	r.interrupt(id)
	r.rest(id)
	r.send(id, "fail", "")
	r.rest(id)
	body := scrape(t, m)
	for _, line := range []string{`holdfast_turns_total{result="ended"} 1`, `holdfast_turns_total{result="interrupted"} 1`, `holdfast_turns_total{result="failed"} 1`,
		`holdfast_errors_total{kind="model_missing"} 1`, `holdfast_queue_wait_seconds_count 3`, `holdfast_prompt_bytes_count 3`, `holdfast_prompt_messages_count 3`,
		`holdfast_ttft_seconds_count 2`, `holdfast_context_used_ratio_count 1`} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

// TestStepsAndCallsAreCounted: what a Turn moves of engine.md 17; the metrics of recovery stand with the leases, those of summaries with them.
func TestStepsAndCallsAreCounted(t *testing.T) {
	m := metric.New()
	r := newRig(t, setup{metrics: m, config: window(16384), tools: []chat.Tool{instant("big", strings.Repeat("word ", 20000)), instant("probe", "x")},
		model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			switch {
			case p.User() == "name it":
				return scripted.Text("Named.")
			case len(p.Results()) == 0:
				return scripted.Calls(toolCall("big", `{}`))
			case len(p.Results()) == 1:
				return scripted.Text("I look.\n```json\n{\"name\":\"probe\",\"arguments\":{\"n\":1}}\n```")
			}
			return scripted.Calls(toolCall("probe", `{"n":2}`))
		}}})
	id := r.create("name it")
	r.rest(id)
	r.send(id, "go round", "")
	if v := r.rest(id); v.Chat.LastError == nil || v.Chat.LastError.Kind != chat.KindLoop {
		t.Fatalf("%s %+v", v.Chat.State, v.Chat.LastError)
	}
	if err := r.engine.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	body := scrape(t, m)
	for _, begin := range []string{`holdfast_steps_total{model="m:latest"} 8`, `holdfast_step_seconds_count 8`, `holdfast_tokens_total{direction="in",model="m:latest"} `,
		`holdfast_tokens_total{direction="out",model="m:latest"} `, `holdfast_tool_result_bytes_count{tool="big"} 1`, `holdfast_tool_results_truncated_total{tool="big"} 1`,
		`holdfast_calls_repaired_total{form="`, `holdfast_loops_total{action="nudged"} `, `holdfast_loops_total{action="stopped"} 1`, `holdfast_errors_total{kind="loop"} 1`} {
		if !strings.Contains(body, "\n"+begin) {
			t.Errorf("no line %s", begin)
		}
	}
}

// TestSmallJobsAndNoticesAreCounted: by kind and result, and by whether a page listened.
func TestSmallJobsAndNoticesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metric.New()
		told := notice.New(m, time.Now())
		r := newRig(t, setup{metrics: m, notify: told.Post, keep: told.Keep, judged: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
			switch p.Small() {
			case "title":
				return scripted.Text(`{"title":"A good title"}`)
			case "summary":
				return scripted.Reply{Status: 400, Error: "no"}
			case "status":
				return scripted.Text("complete")
			}
			return scripted.Text("I did it. It works.")
		}}})
		has := func(lines ...string) {
			t.Helper()
			synctest.Wait()
			body := scrape(t, m)
			for _, line := range lines {
				if !strings.Contains(body, "\n"+line+"\n") {
					t.Errorf("no line %s", line)
				}
			}
		}
		id := r.named("please name this chat well").ID
		r.rest(id)
		// A summary waits for the person to go on; so does what is told.
		time.Sleep(time.Minute)
		has(`holdfast_quick_total{kind="classifier",result="ok"} 1`, `holdfast_quick_total{kind="title",result="ok"} 1`,
			`holdfast_quick_total{kind="summary",result="error"} 1`, `holdfast_notices_total{result="unheard"} 1`)
		w, err := told.Follow(t.Context(), r.who, notice.FollowInput{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		r.send(id, "and again", "")
		r.rest(id)
		time.Sleep(time.Minute)
		has(`holdfast_quick_total{kind="classifier",result="ok"} 2`, `holdfast_notices_total{result="heard"} 1`, `holdfast_notices_total{result="unheard"} 1`)
	})
}
