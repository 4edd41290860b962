package workspace

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/engine/rule"
	"holdfast/kv"
)

// TemplatesKey is the name of the Templates' record in the store; the value is a list of chat.Template.
const TemplatesKey = "workspace_templates"

// maxTemplates bounds how many there are.
const maxTemplates = 200

// Templates gives all Templates, by name.
func Templates(tx *kv.Tx) ([]chat.Template, error) {
	var all []chat.Template
	_, err := tx.Site(TemplatesKey, &all)
	return all, err
}

// find gives the Template of that id, nil when there is none.
func find(tx *kv.Tx, id chat.TemplateID) (*chat.Template, error) {
	all, err := Templates(tx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
	}
	return nil, nil
}

// Retarget hands the Templates that make Workspaces beside one Agent to the one that takes its place.
func Retarget(tx *kv.Tx, before, now chat.AgentID) error {
	all, err := Templates(tx)
	if err != nil {
		return err
	}
	moved := false
	for i := range all {
		if all[i].Target == string(before) {
			all[i].Target, moved = string(now), true
		}
	}
	if !moved {
		return nil
	}
	return putTemplates(tx, all)
}

func putTemplates(tx *kv.Tx, all []chat.Template) error {
	slices.SortStableFunc(all, func(a, b chat.Template) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return tx.PutSite(TemplatesKey, all)
}

// ListTemplatesInput asks for the Templates that the caller may use.
type ListTemplatesInput struct{}

// ListTemplates gives the Templates that the caller may use, by name. Who is no admin does not see what they are made of.
func (r *Room) ListTemplates(ctx context.Context, p chat.Principal, _ ListTemplatesInput) ([]chat.Template, error) {
	out := []chat.Template{}
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		all, err := Templates(tx)
		out = out[:0]
		for _, t := range all {
			if usable(t, p) {
				out = append(out, shownTo(t, p))
			}
		}
		return err
	})
	return out, err
}

// usable says whether a person may make Workspaces from a Template.
func usable(t chat.Template, p chat.Principal) bool { return p.Admin() || t.AllowMembers }

// shownTo leaves out what only admins see.
func shownTo(t chat.Template, p chat.Principal) chat.Template {
	if !p.Admin() {
		t.Source, t.Directory, t.Setup, t.Variables, t.Permissions = "", "", "", nil, chat.RuleSet{}
	}
	return t
}

// GetTemplateInput names a Template.
type GetTemplateInput struct{ ID chat.TemplateID }

// GetTemplate gives a Template that the caller may use.
func (r *Room) GetTemplate(ctx context.Context, p chat.Principal, in GetTemplateInput) (chat.Template, error) {
	var out chat.Template
	return out, r.store.View(ctx, func(tx *kv.Tx) error {
		t, err := find(tx, in.ID)
		if err != nil {
			return err
		}
		if t == nil || !usable(*t, p) {
			return chat.NotFound("template")
		}
		out = shownTo(*t, p)
		return nil
	})
}

// CreateTemplateInput is a new Template. What is left out is nothing, and Autostop on.
type CreateTemplateInput struct{ chat.TemplateFields }

// CreateTemplate adds a Template.
func (r *Room) CreateTemplate(ctx context.Context, _ chat.Principal, in CreateTemplateInput) (chat.Template, error) {
	t := cleanTemplate(chat.TemplateWith(chat.Template{Autostop: true}, in.TemplateFields))
	id, err := uuid.NewV7()
	if err != nil {
		return t, err
	}
	t.ID, t.CreatedAt = chat.TemplateID(id.String()), r.now().UTC()
	wrong := r.checkTemplate(ctx, t)
	return t, r.touched(r.store.Update(ctx, func(tx *kv.Tx) error {
		all, err := Templates(tx)
		if err != nil {
			return err
		}
		if len(all) >= maxTemplates {
			return chat.Invalid("name", "there are 200 templates already; delete one first")
		}
		if err := refuseTemplate(wrong, t, all); err != nil {
			return err
		}
		return putTemplates(tx, append(all, t))
	}))
}

// AuditFacts gives what the audit says of its rules.
func (i CreateTemplateInput) AuditFacts() map[string]string { return ruleFacts(i.TemplateFields) }

// AuditFacts gives what the audit says of new rules.
func (i UpdateTemplateInput) AuditFacts() map[string]string { return ruleFacts(i.TemplateFields) }

func ruleFacts(f chat.TemplateFields) map[string]string {
	if f.Permissions == nil {
		return nil
	}
	return rule.Facts(*f.Permissions)
}

// UpdateTemplateInput changes what is not nil.
type UpdateTemplateInput struct {
	ID chat.TemplateID
	chat.TemplateFields
}

// UpdateTemplate changes a Template. Workspaces that were made from it keep what they were made of; their time to live is the new one.
func (r *Room) UpdateTemplate(ctx context.Context, p chat.Principal, in UpdateTemplateInput) (chat.Template, error) {
	was, err := r.GetTemplate(ctx, p, GetTemplateInput{ID: in.ID})
	if err != nil {
		return was, err
	}
	t := cleanTemplate(chat.TemplateWith(was, in.TemplateFields))
	wrong := r.checkTemplate(ctx, t)
	return t, r.touched(r.store.Update(ctx, func(tx *kv.Tx) error {
		all, err := Templates(tx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(o chat.Template) bool { return o.ID == in.ID })
		if at < 0 {
			return chat.NotFound("template")
		}
		if !reflect.DeepEqual(all[at], was) {
			return &chat.Error{Kind: chat.KindWrongState, Message: "The template has just been changed by somebody else.", Detail: "Look at it again, then save."}
		}
		if err := refuseTemplate(wrong, t, all); err != nil {
			return err
		}
		all[at] = t
		return putTemplates(tx, all)
	}))
}

// DeleteTemplateInput names a Template.
type DeleteTemplateInput struct{ ID chat.TemplateID }

// DeleteTemplate removes a Template; the Workspaces that were made from it stay.
func (r *Room) DeleteTemplate(ctx context.Context, _ chat.Principal, in DeleteTemplateInput) (Deleted, error) {
	return Deleted{}, r.touched(r.store.Update(ctx, func(tx *kv.Tx) error {
		all, err := Templates(tx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(o chat.Template) bool { return o.ID == in.ID })
		if at < 0 {
			return chat.NotFound("template")
		}
		return putTemplates(tx, slices.Delete(all, at, at+1))
	}))
}
