package engine

import (
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
)

// meters are the metrics of engine.md 17 that the engine itself counts.
type meters struct {
	turnMeters
	toolMeters
	faultMeters
}

type turnMeters struct {
	running     *metric.Gauge
	steps       *metric.Counter
	tokens      *metric.Counter
	stepSeconds *metric.Histogram
	compactions *metric.Counter
	repaired    *metric.Counter
	loops       *metric.Counter
	nudges      *metric.Counter
	titles      *metric.Counter
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
			running:     m.Gauge("holdfast_running_turns", "Turns that run now."),
			steps:       m.Counter("holdfast_steps_total", "Steps by model.", model),
			tokens:      m.Counter("holdfast_tokens_total", "Tokens by the server's counts.", model, metric.OneOf("direction", "in", "out")),
			stepSeconds: m.Histogram("holdfast_step_seconds", "Time of a model call.", seconds),
			compactions: m.Counter("holdfast_compactions_total", "Compactions.", metric.OneOf("result", "ok", "error")),
			repaired:    m.Counter("holdfast_calls_repaired_total", "Calls read from text.", metric.Capped("form", 10)),
			nudges:      m.Counter("holdfast_unfinished_replies_total", "Replies that announced a call or held one that could not be read."),
			loops:       m.Counter("holdfast_loops_total", "Repeated Calls.", metric.OneOf("action", "nudged", "stopped")),
			titles:      m.Counter("holdfast_quick_total", "Quick generations.", metric.OneOf("kind", "title"), metric.OneOf("result", "ok", "error")),
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

func (m *meters) step(model string, reply chat.Reply, took time.Duration) {
	m.steps.Inc(model)
	m.stepSeconds.Seconds(took)
	if n := reply.Usage.InputTokens; n != nil {
		m.tokens.Add(float64(*n), model, "in")
	}
	if n := reply.Usage.OutputTokens; n != nil {
		m.tokens.Add(float64(*n), model, "out")
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
