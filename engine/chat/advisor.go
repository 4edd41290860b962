package chat

// AdvisorTool is the name of the Tool that asks the advisor.
const AdvisorTool = "advisor"

// AdvisorConfig is how Chats may consult the advisor. The zero value is off.
type AdvisorConfig struct {
	Enabled bool `json:"enabled"`
	// MaxUsesPerRun is how often a Turn may ask; 0 leaves it to the cap on Steps.
	MaxUsesPerRun int `json:"max_uses_per_run"`
	// MaxOutputTokens is how long advice may be; 0 is 16,384.
	MaxOutputTokens int `json:"max_output_tokens"`
	// ReasoningEffort is "", low, medium or high.
	ReasoningEffort string `json:"reasoning_effort"`
	// ModelConfigID is the model that advises; ZeroModelConfig is the Chat's own.
	ModelConfigID ModelConfigID `json:"model_config_id"`
}

// ClassifierConfig says whether a finished Turn is judged, and by which models.
type ClassifierConfig struct {
	Enabled bool `json:"enabled"`
	// Candidates make the small generations, the first that is loaded or fits; where there is none the Chat's own model does.
	Candidates []ModelConfigID `json:"candidates"`
}

// TurnSummariesConfig says whether a model sums up each Turn; without it the line below a title is the first sentence of the reply.
type TurnSummariesConfig struct {
	Enabled bool `json:"enabled"`
}

// AdvisorResult is what the advisor Tool answers, and all of it. Type is one of AdviceGiven, AdviceLimit and AdviceFailed.
type AdvisorResult struct {
	Type          string        `json:"type"`
	Advice        string        `json:"advice,omitempty"`
	Error         string        `json:"error,omitempty"`
	AdvisorModel  string        `json:"advisor_model,omitempty"`
	RemainingUses int           `json:"remaining_uses"`
	Usage         *AdvisorUsage `json:"usage,omitempty"`
}

// AdvisorUsage is what a consultation used; CostMicros is nil without a price.
type AdvisorUsage struct {
	InputTokens  *int64 `json:"input_tokens"`
	OutputTokens *int64 `json:"output_tokens"`
	TotalTokens  *int64 `json:"total_tokens"`
	CostMicros   *int64 `json:"cost_micros"`
	DurationMS   int64  `json:"duration_ms"`
}

// AdvisedDay sums up the Turns of a person that asked the advisor on a day: how many there were, how many of them reached the limit of uses, and
// how long the newest consultations took.
type AdvisedDay struct {
	UserID  UserID  `json:"user_id"`
	Day     Day     `json:"day"`
	Turns   int     `json:"turns"`
	Limited int     `json:"limited"`
	TookMS  []int64 `json:"took_ms,omitempty"`
}

// Values of AdvisorResult.Type.
const (
	AdviceGiven  = "advice"
	AdviceLimit  = "limit_reached"
	AdviceFailed = "error"
)
