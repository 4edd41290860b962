package chat

import (
	"slices"
	"time"
)

// BehaviourConfig is how Turns go on this site. The zero value is what the appliance does by itself.
type BehaviourConfig struct {
	// RunningTurns is how many Turns of root Chats run at once, 0 what the appliance was started with. A --turns flag comes first.
	RunningTurns int `json:"running_turns"`
	// StepCap ends a Turn normally after so many Steps; 0 is 1200.
	StepCap int `json:"step_cap"`
	// ResumeAfterRestart says whether a Turn that was cut by a restart goes on by itself; nil is true.
	ResumeAfterRestart *bool `json:"resume_after_restart,omitempty"`
	// ActionDeadlineMS is how long the program that made a Chat may take to answer its Calls; 0 is 5 minutes.
	ActionDeadlineMS int64 `json:"requires_action_deadline_ms"`
	// ProcessMaxRuntimeMS is how long a command may run; 0 is without end.
	ProcessMaxRuntimeMS int64 `json:"process_max_runtime_ms"`
	// ContextAllowedRoots are directories of this machine in which people may add Sources, beside that of the Workspace.
	ContextAllowedRoots []string `json:"context_allowed_roots,omitempty"`
}

// Resumes says whether a Turn that was cut by a restart goes on by itself.
func (c BehaviourConfig) Resumes() bool { return c.ResumeAfterRestart == nil || *c.ResumeAfterRestart }

// MaxRuntime is how long a command may run, 0 without end.
func (c BehaviourConfig) MaxRuntime() time.Duration {
	return time.Duration(max(c.ProcessMaxRuntimeMS, 0)) * time.Millisecond
}

// Clone gives a copy that shares nothing.
func (c BehaviourConfig) Clone() BehaviourConfig {
	c.ContextAllowedRoots = slices.Clone(c.ContextAllowedRoots)
	return c
}

// ActionDeadline is that time, fallback where the site set none.
func (c BehaviourConfig) ActionDeadline(fallback time.Duration) time.Duration {
	if c.ActionDeadlineMS <= 0 {
		return fallback
	}
	return time.Duration(c.ActionDeadlineMS) * time.Millisecond
}

// PlanModeConfig is what a site tells models in plan mode beside what the appliance says.
type PlanModeConfig struct {
	Text string `json:"text"`
}
