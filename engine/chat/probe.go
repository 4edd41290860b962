package chat

import "time"

// Names of what a capability test looks for.
const (
	FindStreaming = "streaming"
	FindTools     = "tools"
	FindParallel  = "parallel_calls"
	FindTextTools = "tools_as_text"
	FindJSON      = "json"
	FindJSONTools = "tools_as_json"
	FindVision    = "vision"
	FindThinking  = "thinking"
	FindWindow    = "window"
)

// FindingState is what a test of one capability came to.
type FindingState string

const (
	// FoundYes and FoundNo are answers; FoundFailed is none, the detail says why; FoundSkipped was not worth asking.
	FoundYes     FindingState = "yes"
	FoundNo      FindingState = "no"
	FoundFailed  FindingState = "failed"
	FoundSkipped FindingState = "skipped"
)

// Finding is the answer to one question of a capability test.
type Finding struct {
	Name   string       `json:"name"`
	State  FindingState `json:"state"`
	Detail string       `json:"detail,omitempty"`
}

// Probe is what a capability test found out about a model.
type Probe struct {
	At     time.Time `json:"at"`
	TookMS int64     `json:"took_ms"`
	// Window is num_ctx during the test. RealWindow is how many tokens the model was seen to read whole, 0 when that was not measured.
	Window     int64 `json:"window"`
	RealWindow int64 `json:"real_window,omitempty"`
	// Speeds are in tokens per second, 0 when the server does not tell.
	PrefillSpeed float64   `json:"prefill_speed,omitempty"`
	EvalSpeed    float64   `json:"eval_speed,omitempty"`
	Findings     []Finding `json:"findings"`
}

// Found gives a Finding by name; its State is empty when the test did not get to it, or there was none.
func (p *Probe) Found(name string) Finding {
	if p != nil {
		for _, f := range p.Findings {
			if f.Name == name {
				return f
			}
		}
	}
	return Finding{Name: name}
}

// ProbeFailure is why the last capability test came to no result.
type ProbeFailure struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// Speed is in tokens per second; 0 is unknown.
type Speed struct{ Prefill, Eval float64 }

// Values of ModelConfig.Tools: how Calls travel between model and engine.
const (
	// ToolsAuto begins as ModelConfig.FoundTools says, native without it.
	ToolsAuto = "auto"
	// ToolsNative are the model server's own.
	ToolsNative = "native"
	// ToolsText are described in the system text and read from the end of the reply.
	ToolsText = "text"
	// ToolsJSON are part of replies that a JSON Schema shapes.
	ToolsJSON = "json"
	ToolsOff  = "off"
)

// Protocol is the way that Calls travel in a new Turn: never ToolsAuto.
func (c ModelConfig) Protocol() string {
	if c.Tools != ToolsAuto && c.Tools != "" {
		return c.Tools
	}
	if c.FoundTools != "" {
		return c.FoundTools
	}
	return ToolsNative
}

// Speed is what the capability test measured.
func (c ModelConfig) Speed() Speed {
	if c.Probe == nil {
		return Speed{}
	}
	return Speed{Prefill: c.Probe.PrefillSpeed, Eval: c.Probe.EvalSpeed}
}

// ReadWindow is the window in tokens that the test saw the server cut the prompt to, 0 when it did not.
func (c ModelConfig) ReadWindow() int64 {
	if c.Probe == nil || c.Probe.Found(FindWindow).State != FoundNo {
		return 0
	}
	return c.Probe.RealWindow
}
