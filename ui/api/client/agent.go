package client

import (
	"context"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// Agent serves a Workspace from elsewhere.
type Agent struct {
	ID          chat.AgentID     `json:"id"`
	WorkspaceID chat.WorkspaceID `json:"workspace_id"`
	Workspace   string           `json:"workspace"`
	Host        string           `json:"host,omitempty"`
	Directory   string           `json:"directory,omitempty"`
	Version     string           `json:"version,omitempty"`
	// Link is the version of the link that both sides speak.
	Link string `json:"link,omitempty"`
	OS   string `json:"os,omitempty"`
	Arch string `json:"arch,omitempty"`
	// Capabilities are those of both sides.
	Capabilities []string `json:"capabilities"`
	// State is online, offline, twice (two agents share one key) or version (it speaks another version of the link).
	State string `json:"state"`
	// Detail says more of twice and version.
	Detail    string `json:"detail,omitempty"`
	CreatedAt Time   `json:"created_at"`
	// SeenAt is when it was last heard of.
	SeenAt *Time `json:"seen_at,omitempty"`
	// Since is when its link came or went, as far as this run of the appliance knows.
	Since *Time `json:"since,omitempty"`
	// RenewalUntil is until when a token is good with which an agent takes its place.
	RenewalUntil *Time `json:"renewal_until,omitempty"`
}

// AgentWait is a Workspace that has no Agent. Without ExpiresAt there is no token for one.
type AgentWait struct {
	WorkspaceID chat.WorkspaceID `json:"workspace_id"`
	Workspace   string           `json:"workspace"`
	ExpiresAt   *Time            `json:"expires_at,omitempty"`
}

// AgentPage holds all Agents, by the name of their Workspace. URL and Pin say where Agents reach the appliance; "" is nowhere.
type AgentPage struct {
	Agents  []Agent     `json:"agents"`
	Waiting []AgentWait `json:"waiting"`
	URL     string      `json:"url,omitempty"`
	Pin     string      `json:"pin,omitempty"`
}

// EnrolmentCreate names the Workspace that gets an Agent, or gives the name of a new one.
type EnrolmentCreate struct {
	WorkspaceID chat.WorkspaceID `json:"workspace_id,omitempty"`
	Name        string           `json:"name,omitempty"`
}

// Enrolment has the token, shown once, and the command that asks for it.
type Enrolment struct {
	Token       string           `json:"token"`
	ExpiresAt   Time             `json:"expires_at"`
	WorkspaceID chat.WorkspaceID `json:"workspace_id"`
	Command     string           `json:"command"`
}

// Agents lists the Agents.
func (c *Client) Agents(ctx context.Context) (AgentPage, error) {
	var out AgentPage
	return out, c.call(ctx, http.MethodGet, "/agents", nil, nil, &out)
}

// Enrol makes an enrolment token.
func (c *Client) Enrol(ctx context.Context, in EnrolmentCreate) (Enrolment, error) {
	var out Enrolment
	return out, c.call(ctx, http.MethodPost, "/agents/enrolments", nil, in, &out)
}

// RenewAgent makes a token with which the machine of an Agent enrols anew, under a new key.
func (c *Client) RenewAgent(ctx context.Context, id chat.AgentID) (Enrolment, error) {
	var out Enrolment
	return out, c.call(ctx, http.MethodPost, "/agents/"+url.PathEscape(string(id))+"/renew", nil, nil, &out)
}

// RevokeAgent makes an Agent unknown and closes its link.
func (c *Client) RevokeAgent(ctx context.Context, id chat.AgentID) error {
	return c.call(ctx, http.MethodDelete, "/agents/"+url.PathEscape(string(id)), nil, nil, nil)
}
