package engine

import (
	"context"
	"encoding/json"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/kv"
)

// Names of the Tools that make a Chat's Workspace.
const (
	toolTemplates = "list_templates"
	toolMake      = "create_workspace"
)

// templatesPage is how many Templates a page has.
const templatesPage = 10

const textNoPlace = "No workspace yet. Call create_workspace first."

// makeTools make a Chat's Workspace.
func (e *Engine) makeTools() []chat.Tool {
	return []chat.Tool{
		ownTool{run: e.templatesTool, def: chat.ToolDef{Name: toolTemplates, Effect: chat.ClassRead,
			Description: "List what a new workspace can be made from.",
			Schema:      json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"page":{"type":"integer"}},"required":[]}`)}},
		ownTool{run: e.makeTool, def: chat.ToolDef{Name: toolMake, Effect: chat.ClassEffect, Writes: true,
			Description: "Create the workspace of this chat from a template. Needed before files or commands.",
			Schema: json.RawMessage(`{"type":"object","properties":{"template_id":{"type":"string"},"name":{"type":"string"},` +
				`"branch":{"type":"string","description":"where a clone or worktree begins"}},"required":["template_id"]}`)}},
	}
}

// shownTemplate is what a model sees of a Template.
type shownTemplate struct {
	ID          chat.TemplateID `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
}

func (e *Engine) templatesTool(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	in := struct {
		Query string
		Page  int
	}{Page: 1}
	if err := json.Unmarshal(args, &in); err != nil {
		return failed("The arguments cannot be read: %v", err)
	}
	var all []chat.Template
	err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
		var p chat.Principal
		if _, p, err = ownerOf(tx, env.ChatID); err == nil {
			all, err = workspace.ForModels(tx, p)
		}
		return err
	})
	if err != nil {
		return failed("%s", told(storeError(err)))
	}
	out := struct {
		Templates []shownTemplate `json:"templates"`
		NextPage  int             `json:"next_page,omitempty"`
	}{Templates: []shownTemplate{}}
	from := (max(in.Page, 1) - 1) * templatesPage
	n := 0
	for _, t := range all {
		if !matches(t, in.Query) {
			continue
		}
		switch n++; {
		case n > from+templatesPage:
			out.NextPage = max(in.Page, 1) + 1
		case n > from:
			out.Templates = append(out.Templates, shownTemplate{t.ID, t.Name, t.Description})
		}
	}
	return resultOf(out)
}

// matches says whether a Template has all words of a query.
func matches(t chat.Template, query string) bool {
	text := strings.ToLower(t.Name + " " + t.Description + " " + string(t.ID))
	for _, word := range strings.Fields(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// ownerOf gives a Chat and its owner as they are now.
func ownerOf(tx *kv.Tx, id chat.ID) (*chat.Chat, chat.Principal, error) {
	c, err := mustChat(tx, id)
	if err != nil {
		return nil, chat.Principal{}, err
	}
	p, err := principalOf(tx, c.OwnerID)
	return c, p, err
}

// principalOf gives the rights that a person has now.
func principalOf(tx *kv.Tx, id chat.UserID) (chat.Principal, error) {
	p := chat.Principal{UserID: id, Role: chat.UserMember}
	u, found, err := tx.User(id)
	if found {
		p.Role = u.Role
	}
	return p, err
}

// madeWorkspace is what a model is told of the Workspace of its Chat.
type madeWorkspace struct {
	WorkspaceID chat.WorkspaceID    `json:"workspace_id"`
	Name        string              `json:"name"`
	Directory   string              `json:"directory"`
	Branch      string              `json:"branch,omitempty"`
	State       chat.WorkspaceState `json:"state"`
	SetupLog    string              `json:"setup_log"`
	Note        string              `json:"note,omitempty"`
}

func (e *Engine) makeTool(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	in := workspace.MakeInput{ForModel: true, ChatID: env.ChatID}
	var a struct {
		ID           string `json:"template_id"`
		Name, Branch string
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return failed("The arguments cannot be read: %v", err)
	}
	in.TemplateID, in.Name, in.Branch = chat.TemplateID(a.ID), a.Name, a.Branch
	script, asks, err := e.setupOf(ctx, env.ChatID, in.TemplateID)
	if err != nil {
		return failed("%s", told(storeError(err)))
	}
	if asks && env.Agreed != script {
		return failed("The setup of this template was changed after it was asked about. Nothing was made; call create_workspace again.")
	}
	in.Setup = &script
	w, err := e.bind(ctx, env.ChatID, in)
	if err == nil {
		w, err = e.ports.spaces.Build(ctx, w.ID, workspace.BuildOptions{Setup: in.Setup, Log: env.Output})
	}
	if err != nil {
		return failed("%s", told(storeError(err)))
	}
	out := madeWorkspace{WorkspaceID: w.ID, Name: w.Name, Directory: w.Directory, Branch: w.Made.Branch, State: w.Standing(), SetupLog: w.Made.Log}
	if w.Standing() == chat.WorkspaceSetupFailed {
		out.Note = "Setup failed; what is there is kept. Call create_workspace again to retry."
	} else if e.feed.others(&chat.Chat{ID: env.ChatID}, &w) > 0 {
		out.Note = "Another chat is working in this directory at this moment; its changes and yours meet."
	}
	return resultOf(out)
}

// setupOf gives the script that create_workspace would run, and whether a person has to agree to it first.
func (e *Engine) setupOf(ctx context.Context, id chat.ID, template chat.TemplateID) (script string, asks bool, err error) {
	return script, asks, e.store.View(ctx, func(tx *kv.Tx) error {
		c, p, err := ownerOf(tx, id)
		if err != nil {
			return err
		}
		script, asks, err = e.ports.spaces.SetupOf(tx, p, c.WorkspaceID, template)
		return err
	})
}

// bind gives the Chat's Workspace. Where it has none, one is reserved and the Chat bound to it, in one transaction.
func (e *Engine) bind(ctx context.Context, id chat.ID, in workspace.MakeInput) (chat.WorkspaceRecord, error) {
	var w chat.WorkspaceRecord
	bound := false
	look := func(tx *kv.Tx, c *chat.Chat) error {
		if c.WorkspaceID == "" {
			return nil
		}
		rec, found, err := tx.Workspace(c.WorkspaceID)
		if bound = found; found {
			w = *rec
		}
		return err
	}
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		c, err := mustChat(tx, id)
		if err != nil {
			return err
		}
		return look(tx, c)
	})
	if err != nil || bound {
		return w, err
	}
	_, err = e.change(ctx, change{chat: id, quiet: true, event: kindOf(chat.Amend), write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
		if err := look(tx, c); err != nil || bound {
			return err
		}
		_, p, err := ownerOf(tx, id)
		if err != nil {
			return err
		}
		if w, err = e.ports.spaces.Reserve(tx, p, in); err != nil {
			return err
		}
		c.WorkspaceID = w.ID
		return appendMessage(tx, c, &chat.Message{CreatedAt: e.now().UTC(), Role: chat.RoleSystem, Visibility: chat.VisibleModel,
			Content: []chat.Part{workspaceSection(c)}, ContentVersion: 1})
	}})
	return w, err
}
