package view

// AgentsPage are the Agents that serve Workspaces from elsewhere.
type AgentsPage struct {
	Page   Page
	Note   ServerNote
	Agents []FarAgent
	// Waiting are Workspaces that wait for an Agent to enrol.
	Waiting []AgentWait
	// Open: Agents can reach the appliance.
	Open    bool
	Fresh   FreshAgent
	Problem string
}

// AgentState is how an Agent is.
type AgentState string

const (
	AgentOnline  AgentState = "online"
	AgentOffline AgentState = "offline"
	AgentTwice   AgentState = "twice"
	AgentVersion AgentState = "version"
)

// FarAgent is a row of the page. Element id: ag-ID.
type FarAgent struct {
	ID        string
	Workspace string
	// Place is the machine and its folder.
	Place string
	State AgentState
	// Since is when it came or went, "" when that is not known.
	Since string
	// Problem says more of twice and version.
	Problem string
	// Facts stand below: version, system, load.
	Facts []string
	// Lacks are what it does not offer, in words.
	Lacks string
}

// AgentWait is a Workspace without an Agent yet. Element id: aw-ID.
type AgentWait struct{ ID, Workspace, Until string }

// FreshAgent is an enrolment just made; its token is shown this once.
type FreshAgent struct{ Workspace, Command, Token, Until string }
