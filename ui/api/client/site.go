package client

import (
	"context"
	"net/http"

	"holdfast/engine/chat"
)

// AdvisorConfig is how Chats may consult the advisor. 0 uses leave it to the cap on Steps, 0 tokens are 16,384. ReasoningEffort is "",
// low, medium or high; the zero UUID is the Chat's own model.
type AdvisorConfig struct {
	Enabled         bool               `json:"enabled"`
	MaxUsesPerRun   int                `json:"max_uses_per_run"`
	MaxOutputTokens int                `json:"max_output_tokens"`
	ReasoningEffort string             `json:"reasoning_effort"`
	ModelConfigID   chat.ModelConfigID `json:"model_config_id"`
}

// ClassifierConfig says whether finished Turns are judged; Candidates are the models that do it, the first that is loaded or fits.
type ClassifierConfig struct {
	Enabled    bool                 `json:"enabled"`
	Candidates []chat.ModelConfigID `json:"candidates"`
}

// ClassifierUpdate replaces a ClassifierConfig; a nil Enabled is on.
type ClassifierUpdate struct {
	Enabled    *bool                `json:"enabled,omitempty"`
	Candidates []chat.ModelConfigID `json:"candidates,omitempty"`
}

// TurnSummariesConfig says whether a model sums up each Turn.
type TurnSummariesConfig struct {
	Enabled bool `json:"enabled"`
}

// TurnSummariesUpdate replaces a TurnSummariesConfig; a nil Enabled is on.
type TurnSummariesUpdate struct {
	Enabled *bool `json:"enabled,omitempty"`
}

// CompactionConfig says which model writes the summaries of compactions; the zero UUID is the Chat's own.
type CompactionConfig struct {
	ModelConfigID chat.ModelConfigID `json:"model_config_id"`
}

// BehaviourConfig is how Turns go; a deadline of 0 is 5 minutes.
type BehaviourConfig struct {
	// RunningTurns is how many turns run at once, 0 what the appliance was started with; StepCap ends a turn, 0 is 1200.
	RunningTurns int `json:"running_turns"`
	StepCap      int `json:"step_cap"`
	// ResumeAfterRestart is true where it is left out.
	ResumeAfterRestart *bool `json:"resume_after_restart,omitempty"`
	// ProcessMaxRuntimeMS is how long a command may run, 0 without end.
	ProcessMaxRuntimeMS int64    `json:"process_max_runtime_ms"`
	ContextAllowedRoots []string `json:"context_allowed_roots,omitempty"`
	ActionDeadlineMS    int64    `json:"requires_action_deadline_ms"`
}

// PlanModeConfig is what models are told in plan mode beside what the appliance says.
type PlanModeConfig struct {
	Text string `json:"text"`
}

const (
	behaviourConfig  = "/chats/config/behaviour"
	planModeConfig   = "/chats/config/plan-mode-instructions"
	advisorConfig    = "/chats/config/advisor"
	classifierConfig = "/chats/config/classifier"
	summariesConfig  = "/chats/config/turn-summaries"
	compactionConfig = "/chats/config/compaction"
)

// ChatAdvisorConfig gives how Chats may consult the advisor.
func (c *Client) ChatAdvisorConfig(ctx context.Context) (AdvisorConfig, error) {
	var out AdvisorConfig
	return out, c.call(ctx, http.MethodGet, advisorConfig, nil, nil, &out)
}

// UpdateChatAdvisorConfig replaces how Chats may consult the advisor (admin).
func (c *Client) UpdateChatAdvisorConfig(ctx context.Context, cfg AdvisorConfig) error {
	return c.call(ctx, http.MethodPut, advisorConfig, nil, cfg, nil)
}

// ChatClassifierConfig says whether finished Turns are judged, and by which models.
func (c *Client) ChatClassifierConfig(ctx context.Context) (ClassifierConfig, error) {
	var out ClassifierConfig
	return out, c.call(ctx, http.MethodGet, classifierConfig, nil, nil, &out)
}

// UpdateChatClassifierConfig replaces whether finished Turns are judged (admin).
func (c *Client) UpdateChatClassifierConfig(ctx context.Context, cfg ClassifierUpdate) error {
	return c.call(ctx, http.MethodPut, classifierConfig, nil, cfg, nil)
}

// ChatTurnSummariesConfig says whether a model sums up each Turn.
func (c *Client) ChatTurnSummariesConfig(ctx context.Context) (TurnSummariesConfig, error) {
	var out TurnSummariesConfig
	return out, c.call(ctx, http.MethodGet, summariesConfig, nil, nil, &out)
}

// UpdateChatTurnSummariesConfig replaces whether a model sums up each Turn (admin).
func (c *Client) UpdateChatTurnSummariesConfig(ctx context.Context, cfg TurnSummariesUpdate) error {
	return c.call(ctx, http.MethodPut, summariesConfig, nil, cfg, nil)
}

// ChatCompactionConfig says which model writes the summaries of compactions.
func (c *Client) ChatCompactionConfig(ctx context.Context) (CompactionConfig, error) {
	var out CompactionConfig
	return out, c.call(ctx, http.MethodGet, compactionConfig, nil, nil, &out)
}

// UpdateChatCompactionConfig replaces which model writes the summaries of compactions (admin).
func (c *Client) UpdateChatCompactionConfig(ctx context.Context, cfg CompactionConfig) error {
	return c.call(ctx, http.MethodPut, compactionConfig, nil, cfg, nil)
}

// ChatBehaviourConfig gives how Turns go.
func (c *Client) ChatBehaviourConfig(ctx context.Context) (BehaviourConfig, error) {
	var out BehaviourConfig
	return out, c.call(ctx, http.MethodGet, behaviourConfig, nil, nil, &out)
}

// UpdateChatBehaviourConfig replaces how Turns go (admin).
func (c *Client) UpdateChatBehaviourConfig(ctx context.Context, cfg BehaviourConfig) error {
	return c.call(ctx, http.MethodPut, behaviourConfig, nil, cfg, nil)
}

// ChatPlanModeInstructions gives what models are told in plan mode.
func (c *Client) ChatPlanModeInstructions(ctx context.Context) (PlanModeConfig, error) {
	var out PlanModeConfig
	return out, c.call(ctx, http.MethodGet, planModeConfig, nil, nil, &out)
}

// UpdateChatPlanModeInstructions replaces what models are told in plan mode (admin).
func (c *Client) UpdateChatPlanModeInstructions(ctx context.Context, cfg PlanModeConfig) error {
	return c.call(ctx, http.MethodPut, planModeConfig, nil, cfg, nil)
}
