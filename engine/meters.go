package engine

import (
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
)

// meters are the metrics of engine.md 17 that the engine itself counts.
type meters struct {
	turnMeters
	promptMeters
	toolMeters
	faultMeters
}

type turnMeters struct {
	running     *metric.Gauge
	turns       *metric.Counter
	queueWait   *metric.Histogram
	ttft        *metric.Histogram
	steps       *metric.Counter
	tokens      *metric.Counter
	stepSeconds *metric.Histogram
	compactions *metric.Counter
	repaired    *metric.Counter
	loops       *metric.Counter
	nudges      *metric.Counter
	quick       *metric.Counter
}

// promptMeters are about what is sent.
type promptMeters struct {
	promptBytes    *metric.Histogram
	promptMessages *metric.Histogram
	contextUsed    *metric.Histogram
}

type toolMeters struct {
	toolCalls   *metric.Counter
	toolErrors  *metric.Counter
	truncated   *metric.Counter
	toolSeconds *metric.Histogram
	resultBytes *metric.Histogram
}

type faultMeters struct {
	retries     *metric.Counter
	errors      *metric.Counter
	recovered   *metric.Counter
	fenceMisses *metric.Counter
	checkpoints *metric.Counter
}

func newMeters(m *metric.Registry) *meters {
	if m == nil {
		m = metric.New()
	}
	model, tool, kind := metric.Capped("model", 50), metric.Capped("tool", 50), metric.Capped("kind", 30)
	seconds := []float64{0.01, 0.1, 1, 10, 60, 600}
	return &meters{
		turnMeters: turnMeters{
			running: m.Gauge("holdfast_running_turns", "Turns that run now."),
			turns: m.Counter("holdfast_turns_total", "Turns by how they ended.", metric.OneOf("result", turnEnded, turnContinued, turnAsks, turnFailed,
				turnInterrupted, turnReleased, turnRecovered)),
			queueWait:   m.Histogram("holdfast_queue_wait_seconds", "Time from runnable to running.", seconds),
			ttft:        m.Histogram("holdfast_ttft_seconds", "Time from a request to the first piece of its answer.", seconds),
			steps:       m.Counter("holdfast_steps_total", "Steps by model.", model),
			tokens:      m.Counter("holdfast_tokens_total", "Tokens by the server's counts.", model, metric.OneOf("direction", "in", "out")),
			stepSeconds: m.Histogram("holdfast_step_seconds", "Time of a model call.", seconds),
			compactions: m.Counter("holdfast_compactions_total", "Compactions.", metric.OneOf("result", "ok", "error")),
			repaired:    m.Counter("holdfast_calls_repaired_total", "Calls read from text.", metric.Capped("form", 10)),
			nudges:      m.Counter("holdfast_unfinished_replies_total", "Replies that announced a call or held one that could not be read."),
			loops:       m.Counter("holdfast_loops_total", "Repeated Calls.", metric.OneOf("action", "nudged", "stopped")),
			quick:       m.Counter("holdfast_quick_total", "Quick generations.", metric.OneOf("kind", "title", "summary", "classifier"), metric.OneOf("result", "ok", "error")),
		},
		promptMeters: promptMeters{
			promptBytes:    m.Histogram("holdfast_prompt_bytes", "Size of a request.", []float64{4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}),
			promptMessages: m.Histogram("holdfast_prompt_messages", "Messages in a request.", []float64{2, 8, 32, 128, 512}),
			contextUsed:    m.Histogram("holdfast_context_used_ratio", "How full the window is after a Step.", []float64{0.1, 0.25, 0.5, 0.7, 0.9, 1}),
		},
		toolMeters: toolMeters{
			toolCalls:   m.Counter("holdfast_tool_calls_total", "Calls.", tool),
			toolErrors:  m.Counter("holdfast_tool_errors_total", "Calls that failed or were refused.", tool),
			truncated:   m.Counter("holdfast_tool_results_truncated_total", "Results that were cut.", tool),
			toolSeconds: m.Histogram("holdfast_tool_seconds", "Time of a Call.", seconds, tool),
			resultBytes: m.Histogram("holdfast_tool_result_bytes", "Size of a Result.", []float64{256, 4096, 32768}, tool),
		},
		faultMeters: faultMeters{
			retries:     m.Counter("holdfast_retries_total", "Repeated model calls.", kind),
			errors:      m.Counter("holdfast_errors_total", "Failed Turns.", kind),
			recovered:   m.Counter("holdfast_leases_recovered_total", "Recovered Chats.", metric.OneOf("reason", "start", "sweep")),
			fenceMisses: m.Counter("holdfast_fence_misses_total", "Writes of runners that had lost their lease."),
			checkpoints: m.Counter("holdfast_draft_checkpoints_total", "Draft checkpoints.", metric.OneOf("outcome", "ok", "failed")),
		},
	}
}

// Results of holdfast_turns_total.
const (
	turnEnded       = "ended"
	turnContinued   = "continued"
	turnAsks        = "asks"
	turnFailed      = "failed"
	turnInterrupted = "interrupted"
	turnReleased    = "released"
	turnRecovered   = "recovered"
)

// moved counts a transition: how long the Chat waited to run, and how its run ended.
func (m *meters) moved(out changed, now time.Time) {
	if out.event == chat.Acquire && !out.since.IsZero() {
		m.queueWait.Seconds(now.Sub(out.since))
	}
	if !out.from.Leased() || out.chat.State.Leased() {
		return
	}
	switch {
	case out.event == chat.Recover:
		m.turns.Inc(turnRecovered)
	case out.from == chat.Interrupting:
		m.turns.Inc(turnInterrupted)
	case out.event == chat.Release:
		m.turns.Inc(turnReleased)
	case out.event == chat.Fail:
		m.turns.Inc(turnFailed)
	case out.event == chat.AskAction:
		m.turns.Inc(turnAsks)
	case out.move.Effects.Has(chat.Take):
		m.turns.Inc(turnContinued)
	case out.event == chat.FinishTurn:
		m.turns.Inc(turnEnded)
	}
}

// sends counts a request.
func (m *meters) sends(bytes int64, messages int) {
	m.promptBytes.Observe(float64(bytes))
	m.promptMessages.Observe(float64(messages))
}

func (m *meters) step(model string, reply chat.Reply, took time.Duration) {
	m.steps.Inc(model)
	m.stepSeconds.Seconds(took)
	if n := reply.Usage.InputTokens; n != nil {
		m.tokens.Add(float64(*n), model, "in")
	}
	if n := reply.Usage.OutputTokens; n != nil {
		m.tokens.Add(float64(*n), model, "out")
	}
	if in, out, window := reply.Usage.InputTokens, reply.Usage.OutputTokens, reply.Usage.ContextLimit; in != nil && out != nil && window != nil && *window > 0 {
		m.contextUsed.Observe(float64(*in+*out) / float64(*window))
	}
}

func (m *meters) toolDone(tool string, failed bool, took time.Duration, bytes int, truncated bool) {
	m.toolCalls.Inc(tool)
	m.toolSeconds.Seconds(took, tool)
	m.resultBytes.Observe(float64(bytes), tool)
	if failed {
		m.toolErrors.Inc(tool)
	}
	if truncated {
		m.truncated.Inc(tool)
	}
}
