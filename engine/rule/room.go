package rule

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Room holds the rules of one store. Its methods may be called from any goroutine.
type Room struct {
	store *kv.Store
	// open opens a Workspace, to see where a path leads; nil where there are none.
	open func(context.Context, chat.WorkspaceID) (chat.Workspace, error)
}

// New gives the Room over store; open may be nil.
func New(store *kv.Store, open func(context.Context, chat.WorkspaceID) (chat.Workspace, error)) *Room {
	return &Room{store: store, open: open}
}

// Done is the empty answer of a command that leaves nothing to say.
type Done struct{}

// SiteInput asks for the site's rules.
type SiteInput struct{}

// Site gives the rules that count everywhere, behind those of Workspaces and Chats.
func (r *Room) Site(ctx context.Context, _ chat.Principal, _ SiteInput) (chat.RuleSet, error) {
	var out chat.RuleSet
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		l, err := Read(tx, "", "")
		out = Shown(l.Site)
		return err
	})
	return out, err
}

// SetSiteInput replaces the site's rules.
type SetSiteInput struct{ chat.RuleSet }

// SetSite stores the site's rules. They count from each Chat's next Turn.
func (r *Room) SetSite(ctx context.Context, _ chat.Principal, in SetSiteInput) (Done, error) {
	if err := check(in.RuleSet); err != nil {
		return Done{}, err
	}
	return Done{}, r.store.Update(ctx, func(tx *kv.Tx) error { return tx.PutSite(SiteKey, Kept(in.RuleSet)) })
}

// WorkspaceInput names a Workspace.
type WorkspaceInput struct{ ID chat.WorkspaceID }

// Workspace gives the rules of a Workspace.
func (r *Room) Workspace(ctx context.Context, _ chat.Principal, in WorkspaceInput) (chat.RuleSet, error) {
	var out chat.RuleSet
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		out, err = tx.WorkspaceRules(in.ID)
		return err
	})
	return Shown(out), err
}

// SetWorkspaceInput replaces the rules of a Workspace.
type SetWorkspaceInput struct {
	ID chat.WorkspaceID
	chat.RuleSet
}

// SetWorkspace stores the rules of a Workspace. They count from each Chat's next Turn.
func (r *Room) SetWorkspace(ctx context.Context, p chat.Principal, in SetWorkspaceInput) (Done, error) {
	if err := check(in.RuleSet); err != nil {
		return Done{}, err
	}
	return Done{}, r.store.Update(ctx, func(tx *kv.Tx) error {
		old, err := tx.WorkspaceRules(in.ID)
		if err != nil {
			return err
		}
		if err := mayWiden(p, old, in.RuleSet); err != nil {
			return err
		}
		return tx.PutWorkspaceRules(in.ID, Kept(in.RuleSet))
	})
}

// ChatInput names a Chat.
type ChatInput struct{ ChatID chat.ID }

// Chat gives the rules of a Chat and its family.
func (r *Room) Chat(ctx context.Context, _ chat.Principal, in ChatInput) (chat.RuleSet, error) {
	var out chat.RuleSet
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		c, err := mustChat(tx, in.ChatID)
		if err != nil {
			return err
		}
		out, err = tx.ChatRules(c.RootID)
		return err
	})
	return Shown(out), err
}

// SetChatInput replaces the rules of a Chat and its family.
type SetChatInput struct {
	ChatID chat.ID
	chat.RuleSet
}

// SetChat stores the rules of a Chat and its family. They count from the next Turn.
func (r *Room) SetChat(ctx context.Context, p chat.Principal, in SetChatInput) (Done, error) {
	if err := check(in.RuleSet); err != nil {
		return Done{}, err
	}
	return Done{}, r.store.Update(ctx, func(tx *kv.Tx) error {
		c, err := mustChat(tx, in.ChatID)
		if err != nil {
			return err
		}
		old, err := tx.ChatRules(c.RootID)
		if err != nil {
			return err
		}
		if err := mayWiden(p, old, in.RuleSet); err != nil {
			return err
		}
		return tx.PutChatRules(c.RootID, Kept(in.RuleSet))
	})
}

// mayWiden lets only admins write what is as good as trust. What stands there already may stay.
func mayWiden(p chat.Principal, old, set chat.RuleSet) error {
	if p.Admin() {
		return nil
	}
	var fields []string
	if set.Default == chat.PermitAllow && old.Default != chat.PermitAllow {
		fields = append(fields, "default_set")
	}
	for i, r := range set.Rules {
		if Wide(r) && !slices.Contains(old.Rules, r) {
			fields = append(fields, fmt.Sprintf("rules[%d].command", i))
		}
	}
	if len(fields) == 0 {
		return nil
	}
	e := &chat.Error{Kind: chat.KindForbidden, Message: "Only admins allow commands that are not named.",
		Detail: "Such a rule gives commands all rights of a trusted workspace. Name the program, such as go test *."}
	for _, f := range fields {
		e.Validations = append(e.Validations, chat.Validation{Field: f, Detail: "only admins allow this; name the program"})
	}
	return e
}

// Shown is a set as it is read: never null.
func Shown(s chat.RuleSet) chat.RuleSet {
	if s.Default == "" {
		s.Default = chat.PermitStandard
	}
	s.Rules = append([]chat.Rule{}, s.Rules...)
	return s
}

// Kept is a set as it is stored: one that says nothing is none.
func Kept(s chat.RuleSet) chat.RuleSet {
	if s.Default == chat.PermitStandard {
		s.Default = ""
	}
	return s
}

func mustChat(tx *kv.Tx, id chat.ID) (*chat.Chat, error) {
	c, found, err := tx.Chat(id)
	if err == nil && !found {
		err = chat.NotFound("chat")
	}
	return c, err
}

// AuditFacts gives how many rules there are; what they name may be secret.
func (i SetSiteInput) AuditFacts() map[string]string { return Facts(i.RuleSet) }

// AuditFacts gives how many rules there are.
func (i SetWorkspaceInput) AuditFacts() map[string]string { return Facts(i.RuleSet) }

// AuditFacts gives how many rules there are.
func (i SetChatInput) AuditFacts() map[string]string { return Facts(i.RuleSet) }

// Facts are what the audit says of a set: how many rules there are; what they name may be secret.
func Facts(s chat.RuleSet) map[string]string {
	return map[string]string{"default_set": string(Shown(s).Default), "rules": strconv.Itoa(len(s.Rules))}
}
