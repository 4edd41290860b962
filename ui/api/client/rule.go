package client

import (
	"context"
	"net/http"

	"holdfast/engine/chat"
)

// RuleSet is a permission policy. Default is standard, allow, ask or deny: about what no rule speaks of.
type RuleSet struct {
	Default chat.Permission `json:"default_set"`
	Rules   []chat.Rule     `json:"rules"`
}

// Addresses of rule sets below /api/v1.
const siteRules = "/chats/config/permissions"

func workspaceRules(id chat.WorkspaceID) string { return "/workspaces/" + string(id) + "/permissions" }

// SiteRules gives the rules that count everywhere.
func (c *Client) SiteRules(ctx context.Context) (RuleSet, error) {
	var out RuleSet
	return out, c.call(ctx, http.MethodGet, siteRules, nil, nil, &out)
}

// SetSiteRules replaces them; only admins may.
func (c *Client) SetSiteRules(ctx context.Context, in RuleSet) error {
	return c.call(ctx, http.MethodPut, siteRules, nil, in, nil)
}

// WorkspaceRules gives the rules of a Workspace.
func (c *Client) WorkspaceRules(ctx context.Context, id chat.WorkspaceID) (RuleSet, error) {
	var out RuleSet
	return out, c.call(ctx, http.MethodGet, workspaceRules(id), nil, nil, &out)
}

// SetWorkspaceRules replaces them.
func (c *Client) SetWorkspaceRules(ctx context.Context, id chat.WorkspaceID, in RuleSet) error {
	return c.call(ctx, http.MethodPut, workspaceRules(id), nil, in, nil)
}

// ChatRules gives the rules of a Chat and its sub-agents.
func (c *Client) ChatRules(ctx context.Context, id chat.ID) (RuleSet, error) {
	var out RuleSet
	return out, c.call(ctx, http.MethodGet, chatPath(id, "permissions"), nil, nil, &out)
}

// SetChatRules replaces them.
func (c *Client) SetChatRules(ctx context.Context, id chat.ID, in RuleSet) error {
	return c.call(ctx, http.MethodPut, chatPath(id, "permissions"), nil, in, nil)
}

// RuleTry is a Call to try: Text is a command for execute, else a path. Without Default and Rules the stored set is tried.
type RuleTry struct {
	Tool    string          `json:"tool"`
	Text    string          `json:"text,omitempty"`
	Default chat.Permission `json:"default_set,omitempty"`
	Rules   []chat.Rule     `json:"rules,omitempty"`
}

// RuleTried is what would become of it: by Rule of From (this chat, this workspace, the site), or as Why says. Target is where a path leads.
type RuleTried struct {
	Effect chat.Permission `json:"effect"`
	Rule   string          `json:"rule,omitempty"`
	From   string          `json:"from,omitempty"`
	Why    string          `json:"why,omitempty"`
	Target string          `json:"target,omitempty"`
}

// TrySiteRules says what would become of a Call somewhere without rules of its own; nothing runs.
func (c *Client) TrySiteRules(ctx context.Context, in RuleTry) (RuleTried, error) {
	var out RuleTried
	return out, c.call(ctx, http.MethodPost, siteRules+"/try", nil, in, &out)
}

// TryWorkspaceRules says what would become of a Call in a Workspace; nothing runs.
func (c *Client) TryWorkspaceRules(ctx context.Context, id chat.WorkspaceID, in RuleTry) (RuleTried, error) {
	var out RuleTried
	return out, c.call(ctx, http.MethodPost, workspaceRules(id)+"/try", nil, in, &out)
}

// TryChatRules says what would become of a Call in a Chat; nothing runs.
func (c *Client) TryChatRules(ctx context.Context, id chat.ID, in RuleTry) (RuleTried, error) {
	var out RuleTried
	return out, c.call(ctx, http.MethodPost, chatPath(id, "permissions", "try"), nil, in, &out)
}
