package chat

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Options are the model server's sampling and load options of a Model config. Nil fields are left to the model.
type Options struct {
	// NumCtx is the window in tokens; 0 lets the appliance choose.
	NumCtx        int      `json:"num_ctx,omitempty"`
	Temperature   *float64 `json:"temperature,omitempty"`
	TopP          *float64 `json:"top_p,omitempty"`
	TopK          *int     `json:"top_k,omitempty"`
	MinP          *float64 `json:"min_p,omitempty"`
	TypicalP      *float64 `json:"typical_p,omitempty"`
	RepeatPenalty *float64 `json:"repeat_penalty,omitempty"`
	// RepeatLastN is how many tokens back the repeat penalty looks; -1 is the window.
	RepeatLastN      *int     `json:"repeat_last_n,omitempty"`
	PresencePenalty  *float64 `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64 `json:"frequency_penalty,omitempty"`
	Seed             *int     `json:"seed,omitempty"`
	Stop             []string `json:"stop,omitempty"`
	// NumPredict caps the output of a reply in tokens.
	NumPredict *int `json:"num_predict,omitempty"`
	// Load options: a model whose requests differ in them is loaded anew. NumGPU is how many layers the graphics card takes.
	NumBatch *int  `json:"num_batch,omitempty"`
	NumGPU   *int  `json:"num_gpu,omitempty"`
	MainGPU  *int  `json:"main_gpu,omitempty"`
	NumCores *int  `json:"num_thread,omitempty"`
	UseMMap  *bool `json:"use_mmap,omitempty"`
	// KeepAlive is a Go duration such as "30m"; "-1" keeps the model loaded, "" is the adapter's default (30m).
	KeepAlive string `json:"keep_alive,omitempty"`
	// Think is "", "true", "false", "low", "medium" or "high".
	Think string `json:"think,omitempty"`
}

// ModelConfig is a named model with its options, window and price.
type ModelConfig struct {
	ID       ModelConfigID `json:"id"`
	Name     string        `json:"name"`
	Provider string        `json:"provider"`
	BaseURL  string        `json:"base_url,omitempty"`
	// Model is the name as the server lists it, with its tag.
	Model string `json:"model"`
	// ContextLimit is the window in tokens; nil asks the server.
	ContextLimit        *int64  `json:"context_limit"`
	Options             Options `json:"options"`
	CompactionThreshold *int    `json:"compaction_threshold,omitempty"`
	// Tools is ToolsAuto, ToolsNative, ToolsText, ToolsJSON or ToolsOff. FoundTools is what ToolsAuto begins with since the model server
	// said, or a test showed, that the model calls no tools natively: ToolsText or ToolsJSON, "" for native.
	Tools      string `json:"tools"`
	FoundTools string `json:"found_tools,omitempty"`
	// SendReasoning: what the model thought goes back to it with its replies.
	SendReasoning bool    `json:"send_reasoning,omitempty"`
	PriceInput    *string `json:"price_input,omitempty"`
	PriceOutput   *string `json:"price_output,omitempty"`
	PriceCached   *string `json:"price_cached,omitempty"`
	Enabled       bool    `json:"enabled"`
	IsDefault     bool    `json:"is_default"`
	// Chosen: a person made it the default; the first default is the appliance's own choice.
	Chosen bool `json:"chosen,omitempty"`
	// Capabilities as the server told them when the config was made: tools, thinking, vision.
	Capabilities []string `json:"capabilities,omitempty"`
	// WindowHalved: the window was halved after out_of_memory; that happens once until a person sets a window again.
	WindowHalved bool `json:"window_halved,omitempty"`
	// Probe is the last capability test that came to an end, ProbeFailed why a later one did not; nil without one.
	Probe       *Probe        `json:"probe,omitempty"`
	ProbeFailed *ProbeFailure `json:"probe_failed,omitempty"`
	CreatedAt   time.Time     `json:"created_at"`

	// HasAPIKey and APIKeyLost are filled in for readers, not stored: a key is kept sealed beside the record, and is lost when it
	// was sealed under another secret.key, so that it must be entered again.
	HasAPIKey  bool `json:"-"`
	APIKeyLost bool `json:"-"`
	// Host is where prompts go, filled in for readers when the config has a server of its own; BaseURL itself is for admins.
	Host string `json:"-"`
}

// Providers of a ModelConfig: the model server, the scripted demo model inside the appliance, and servers that speak the OpenAI
// protocol, each at the BaseURL of its configs.
const (
	ProviderOllama = "ollama"
	ProviderDemo   = "demo"
	ProviderOpenAI = "openai_compatible"
)

// Class orders requests in front of the model server: Turns before quick generations before capability tests. A ClassQuick request is
// refused where its model would push another one out of memory; a ClassProbe one is what a person asked for and may.
type Class int

const (
	ClassTurn Class = iota
	ClassQuick
	ClassProbe
)

// Request is one model call, neutral to the provider. Messages and Tools keep their order and their bytes from Step to Step.
type Request struct {
	Class Class
	// Provider is the Model config's; it chooses the adapter. BaseURL names the server of ProviderOpenAI, ModelConfigID the config
	// whose key goes with the call: the key itself is never part of a Request.
	Provider      string
	BaseURL       string
	ModelConfigID ModelConfigID
	// Model is the server's name of the model; Options are complete: NumCtx is always set.
	Model   string
	Options Options
	// MaxTokens caps the output; always above 0.
	MaxTokens int
	// System is the one system message; empty sends none.
	System   string
	Messages []PromptMessage
	Tools    []ToolDef
	// Format is a JSON Schema literal for structured output, nil for free text. It is never combined with Tools.
	Format json.RawMessage
	// Think as in Options.Think; "" sends nothing.
	Think string
	// Speed is what a capability test measured; it bounds the wait until calls have shown more.
	Speed Speed
	// Optional: whoever asks can go on without the reply, so that failures are not worth a long wait.
	Optional bool
	// Beside: no other model is pushed out of memory for it; where that would happen it is refused.
	Beside bool
	// Sent is told, by the adapter, what each attempt sends and where to; it must not change the body. May be nil.
	Sent func(url string, body []byte) `json:"-"`
}

// PromptMessage is one message as a model sees it. A role tool message answers the call CallID of ToolName.
type PromptMessage struct {
	Role      Role
	Content   string
	Reasoning string
	Calls     []Call
	CallID    string
	ToolName  string
	// Images are base64 encoded files for models with vision.
	Images []string
}

// Call is what a model asks a Tool to do. Args is a JSON object, or nil if what the model wrote was not one.
type Call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Phase is what a running Turn does at this moment; it is shown, never stored.
type Phase string

const (
	PhaseQueued       Phase = "queued"
	PhaseLoading      Phase = "loading_model"
	PhaseReading      Phase = "reading_prompt"
	PhaseStreaming    Phase = "streaming"
	PhaseRunningTools Phase = "running_tools"
	PhaseCompacting   Phase = "compacting"
	PhaseRetrying     Phase = "retrying"
	PhaseClosing      Phase = "closing"
	// PhaseAgent: what an earlier run of the appliance left is looked up beside an Agent.
	PhaseAgent Phase = "waiting_for_agent"
)

// Delta is one piece of a streamed reply. Exactly one of the groups is set.
type Delta struct {
	// Phase, with Place in the queue (1 is next; 0 when not queued).
	Phase Phase
	Place int
	// Text or Reasoning are appended to the reply.
	Text      string
	Reasoning string
	// Call arrives whole.
	Call *Call
	// Retry announces that the attempt failed and another follows: everything of this reply so far is void.
	Retry *Retry
}

// Retry is shown as a countdown (engine.md 10).
type Retry struct {
	Attempt     int       `json:"attempt"`
	MaxAttempts int       `json:"max_attempts"`
	DelayMS     int64     `json:"delay_ms"`
	RetryingAt  time.Time `json:"retrying_at"`
	Kind        Kind      `json:"kind"`
	Message     string    `json:"message"`
	StatusCode  int       `json:"status_code,omitempty"`
}

// Reply closes a streamed call. Durations are the server's own; zero was not reported.
type Reply struct {
	// FinishReason is stop or length.
	FinishReason string
	Usage        Usage
	Load         time.Duration
	Prompt       time.Duration
	Eval         time.Duration
}

// Fault is what an adapter returns for anything but success: the raw facts, unclassified. engine/call turns it into an Error.
type Fault struct {
	// Status is the HTTP status, 0 without one. Text is the server's own text.
	Status     int
	Text       string
	RetryAfter time.Duration
	// Started says whether a part of the reply had arrived; Loading, whether the model was not loaded yet.
	Started bool
	Loading bool
	Address string
	Err     error
}

// Error gives the text for the log.
func (f *Fault) Error() string {
	if f.Err != nil {
		return "model server " + f.Address + ": " + f.Text + ": " + f.Err.Error()
	}
	return "model server " + f.Address + ": " + f.Text
}

// Unwrap gives the transport's error.
func (f *Fault) Unwrap() error { return f.Err }

// Model makes streamed calls. Implementations own the slots in front of their server and are safe for concurrent use.
type Model interface {
	// Stream runs one call and hands each Delta to yield, on the caller's goroutine and in order. It returns when the reply
	// is whole. A cancelled ctx returns context.Cause(ctx). A yield that returns an error ends the call with that error.
	// Other failures are *Fault (adapters) or *Error (engine/call).
	Stream(ctx context.Context, req *Request, yield func(Delta) error) (Reply, error)
}

// ModelServer is the management side of a model server.
type ModelServer interface {
	// Status never fails for an absent server: Reachable is false and Problem says why.
	Status(ctx context.Context) ServerStatus
	// Installed lists what the server has, with capabilities and trained window filled in.
	Installed(ctx context.Context) ([]InstalledModel, error)
	// Pull fetches a model by name; progress is called on the caller's goroutine.
	Pull(ctx context.Context, name string, progress func(Progress)) error
	// Import uploads a GGUF of size bytes (read from r) and creates the model name from it.
	Import(ctx context.Context, name string, r io.Reader, size int64, progress func(Progress)) error
	// Delete removes a model; an unknown one is a KindNotFound Error.
	Delete(ctx context.Context, name string) error
}

// ServerStatus is the model server as found just now.
type ServerStatus struct {
	Reachable bool          `json:"reachable"`
	Version   string        `json:"version,omitempty"`
	URL       string        `json:"url"`
	Problem   string        `json:"problem,omitempty"`
	Loaded    []LoadedModel `json:"loaded"`
	// Queue is how many requests wait in front of the server for a slot of ours.
	Queue int `json:"queue"`
	// MemoryBytes is the memory that models can use, 0 when unknown.
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
}

// LoadedModel is a model in the server's memory.
type LoadedModel struct {
	Name      string    `json:"name"`
	Size      int64     `json:"size"`
	SizeVRAM  int64     `json:"size_vram"`
	Context   int64     `json:"context_length,omitempty"`
	ExpiresAt time.Time `json:"expires_at"`
}

// InstalledModel is a model on the server's disk.
type InstalledModel struct {
	Name          string   `json:"name"`
	Family        string   `json:"family,omitempty"`
	ParameterSize string   `json:"parameter_size,omitempty"`
	Quantization  string   `json:"quantization,omitempty"`
	Size          int64    `json:"size"`
	Digest        string   `json:"digest,omitempty"`
	Capabilities  []string `json:"capabilities"`
	// TrainedWindow is in tokens, 0 when unknown.
	TrainedWindow int64 `json:"trained_window,omitempty"`
	// SuggestedWindow is the window of a self-made config (engine.md 1); Fits says whether weights and that window fit the memory.
	SuggestedWindow int64 `json:"suggested_window,omitempty"`
	Fits            *bool `json:"fits,omitempty"`
}

// Can says whether the server named the capability (completion, tools, thinking, vision).
func (m InstalledModel) Can(capability string) bool {
	for _, c := range m.Capabilities {
		if c == capability {
			return true
		}
	}
	return false
}

// Progress of a pull or an import. Total is 0 when unknown.
type Progress struct {
	Status         string `json:"status"`
	Completed      int64  `json:"completed"`
	Total          int64  `json:"total"`
	BytesPerSecond int64  `json:"bytes_per_second,omitempty"`
	ETASeconds     int64  `json:"eta_seconds,omitempty"`
}
