package chat

import "time"

// BehaviourConfig is how Turns go on this site. The zero value is what the appliance does by itself.
type BehaviourConfig struct {
	// ActionDeadlineMS is how long the program that made a Chat may take to answer its Calls; 0 is 5 minutes.
	ActionDeadlineMS int64 `json:"requires_action_deadline_ms"`
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
