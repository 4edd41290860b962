package chat

import "time"

// AgentID names an Agent: a UUID (v7) in its 36 character form.
type AgentID string

// WorkspaceAgent is the kind of a Workspace whose files stand beside an Agent.
const WorkspaceAgent = "agent"

// CapabilityPlaces is what an Agent offers beside which Workspaces may be made.
const CapabilityPlaces = "places/1"

// AgentRecord is an Agent that has enrolled, as the store knows it. One Agent serves one Workspace.
type AgentRecord struct {
	ID          AgentID     `json:"id"`
	WorkspaceID WorkspaceID `json:"workspace_id"`
	// PublicKey is its Ed25519 key; the Agent proves on each link that it holds the other half.
	PublicKey []byte `json:"public_key"`
	// Host and Directory are what the Agent says of where it is; Greeting is how it presented itself last.
	Host      string        `json:"host,omitempty"`
	Directory string        `json:"directory,omitempty"`
	Greeting  AgentGreeting `json:"greeting,omitzero"`
	CreatedAt time.Time     `json:"created_at"`
	// SeenAt is when it was last heard of; zero for never.
	SeenAt time.Time `json:"seen_at,omitzero"`
}

// AgentGreeting is what an Agent says of itself.
type AgentGreeting struct {
	Version string `json:"version,omitempty"`
	// Link is the version of the link that both sides speak, such as 1.2.
	Link  string `json:"link,omitempty"`
	OS    string `json:"os,omitempty"`
	Arch  string `json:"arch,omitempty"`
	Shell string `json:"shell,omitempty"`
	// Sandbox is the level of what confines commands there, as it was measured; what is open at it, and why it is not full.
	Sandbox       SandboxLevel `json:"sandbox,omitempty"`
	SandboxOpen   []string     `json:"sandbox_open,omitempty"`
	SandboxReason string       `json:"sandbox_reason,omitempty"`
	// Capabilities are those that both sides have.
	Capabilities []string `json:"capabilities,omitempty"`
}

// AgentEnrolment lets one Agent enrol for a Workspace, once, until it expires. The store knows the token only as its SHA-256.
type AgentEnrolment struct {
	Hash        Hash        `json:"hash"`
	WorkspaceID WorkspaceID `json:"workspace_id"`
	CreatedBy   UserID      `json:"created_by"`
	CreatedAt   time.Time   `json:"created_at"`
	ExpiresAt   time.Time   `json:"expires_at"`
}

// AgentLinks are the links of Agents as they are now.
type AgentLinks interface {
	// State says how an Agent is; of one that has not been heard of it is the zero value.
	State(id AgentID) AgentState
	// Revoke closes the link of an Agent at once, with all that waits for it.
	Revoke(id AgentID)
}

// AgentTrouble says why an Agent that calls is not taken.
type AgentTrouble string

const (
	// AgentTwice: two running Agents share one key and displace each other.
	AgentTwice AgentTrouble = "twice"
	// AgentVersion: the Agent speaks another major version of the link.
	AgentVersion AgentTrouble = "version"
)

// AgentState is how an Agent is now.
type AgentState struct {
	Online bool
	// Since is when it came or went, zero when this appliance has not heard of it yet.
	Since   time.Time
	Trouble AgentTrouble
	// Detail says more of the trouble, in a sentence.
	Detail string
	Stats  AgentStats
}

// AgentStats are what an Agent last said of its machine.
type AgentStats struct {
	Load             float64
	MemoryTotalBytes uint64
	MemoryFreeBytes  uint64
	DiskFreeBytes    uint64
	Processes        int
	// WatcherReason says why changes of files are not seen at once, PushError why the newest Snapshot did not arrive; "" is none.
	WatcherReason string
	PushError     string
}
