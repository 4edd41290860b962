package chat

import "encoding/json"

// Mode limits what a Turn may do; it is chosen when the Turn begins and stays until it ends.
type Mode string

const (
	// ModeAct is a Turn with all Tools.
	ModeAct Mode = ""
	// ModePlan reads, asks and writes one file: the plan.
	ModePlan Mode = "plan"
	// ModeExplore only reads. Sub-agents have it, and it wins over ModePlan.
	ModeExplore Mode = "explore"
)

// AgentType is what a Sub-agent was started for; "" in a root Chat.
type AgentType string

const (
	AgentGeneral AgentType = "general"
	AgentExplore AgentType = "explore"
)

// Mode is the one that the Chat's next Turn has.
func (c *Chat) Mode() Mode {
	switch {
	case c.AgentType == AgentExplore:
		return ModeExplore
	case c.PlanMode == string(ModePlan):
		return ModePlan
	}
	return ModeAct
}

// Child says whether the Chat is a Sub-agent.
func (c *Chat) Child() bool { return c.ParentID != "" }

// PlanPath is where a Chat's plan stands in its Workspace.
func PlanPath(id ID) string { return ".holdfast/plans/PLAN-" + string(id) + ".md" }

// ClientTool is a Tool that the program runs which made the Chat.
type ClientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// Asking is what a Turn ended with that a person should answer by a Message.
type Asking struct {
	Kind   AskingKind `json:"kind"`
	CallID string     `json:"call_id"`
}

// AskingKind says what a person is asked.
type AskingKind string

const (
	AskingQuestion AskingKind = "question"
	AskingPlan     AskingKind = "plan"
)

// OpenClientCalls says whether Calls wait for the program that made the Chat.
func (c *Chat) OpenClientCalls() bool {
	for _, o := range c.Outstanding {
		if o.Kind == OutstandingClient && o.Decision == "" {
			return true
		}
	}
	return false
}

// OpenCards says whether permission cards wait for a person.
func (c *Chat) OpenCards() bool {
	for _, o := range c.Outstanding {
		if o.Kind == OutstandingApproval && o.Decision == "" {
			return true
		}
	}
	return false
}
