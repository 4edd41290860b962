package view

import "strings"

// AgentsPage are the Agents that serve Workspaces from elsewhere.
type AgentsPage struct {
	Page   Page
	Note   ServerNote
	Agents []FarAgent
	// Waiting are Workspaces without an Agent.
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
	// Since is when it came or went, Seen when it was last heard of; "" when that is not known.
	Since, Seen string
	// Problem says more of twice and version.
	Problem string
	// Facts stand below: version, system, link, load.
	Facts []string
	// Offers and Lacks are what it offers and what not, in words.
	Offers, Lacks string
	// Own: the reader may renew it. Renewal is until when a token for that is good, "" for none.
	Own     bool
	Renewal string
}

// AgentWait is a Workspace without an Agent. Until is the end of its token, "" without one; Own: the reader may make one. Element id: aw-ID.
type AgentWait struct {
	ID, Workspace, Until string
	Own                  bool
}

// FreshAgent is an enrolment just made; its token is shown this once. Renewed: there is an Agent, whose place is taken by who uses it.
// Row is the element of the table that says so while the token can be used.
type FreshAgent struct {
	Row, Workspace, Command, Token, Until string
	Renewed                               bool
}

// tokensOut are the rows that say of a token that it can be used, as the page's own list of names.
func tokensOut(list []FarAgent, waiting []AgentWait) string {
	var rows []string
	for _, a := range list {
		if a.Renewal != "" {
			rows = append(rows, js("ag-"+a.ID))
		}
	}
	for _, w := range waiting {
		if w.Until != "" {
			rows = append(rows, js("aw-"+w.ID))
		}
	}
	return "[" + strings.Join(rows, ",") + "]"
}
