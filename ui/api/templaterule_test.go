package api_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// of makes a Workspace from a Template and waits until it runs.
func (p *permits) of(c *client.Client, id chat.TemplateID) client.Workspace {
	p.t.Helper()
	w, err := c.CreateWorkspace(p.t.Context(), client.WorkspaceCreate{TemplateID: id})
	if err != nil {
		p.t.Fatal(err)
	}
	return w
}

// TestATemplateBringsRules: a Workspace begins with the rules of its Template, is its owner's from then on, and never gets past the site's.
func TestATemplateBringsRules(t *testing.T) {
	t.Parallel()
	p := newPermits(t, "")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p.dir = dir
	rules := chat.RuleSet{Rules: []chat.Rule{{Effect: chat.PermitAllow, Tool: "execute", Command: "true *"}, {Effect: chat.PermitAllow, Tool: "execute", Command: "echo *"},
		{Effect: chat.PermitDeny, Tool: "*", Path: "secret/**"}}}
	made, err := p.Client.CreateTemplate(t.Context(), chat.TemplateFields{Name: new("ruled"), Kind: new(chat.TemplateDirectory), Source: &dir, AllowMembers: new(true), Permissions: &rules})
	if err != nil {
		t.Fatal(err)
	}
	if len(made.Permissions.Rules) != 3 || made.Permissions.Default != chat.PermitStandard {
		t.Errorf("%+v", made.Permissions)
	}
	p.space = p.of(p.Client, made.ID).ID
	if h := p.call("execute", command("true x")); len(h.Open) > 0 || !strings.Contains(result(h), `"success":true`) {
		t.Errorf("an allowed command: %s", result(h))
	}
	if h := p.call("execute", command("touch x")); len(h.Open) != 1 {
		t.Errorf("what no rule speaks of: %s", result(h))
	}
	if got := result(p.call("write_file", map[string]string{"path": "secret/a", "content": "x"})); !strings.Contains(got, "denied by a rule of this workspace: deny * secret/**") {
		t.Error(got)
	}
	// A member's Workspace begins with them too; the Template does not show them.
	_, token := p.AddUser(t, "mia", chat.UserMember)
	mia := p.As(t, token)
	if seen, err := mia.Template(t.Context(), made.ID); err != nil || len(seen.Permissions.Rules) > 0 {
		t.Errorf("a member sees %+v, %v", seen.Permissions, err)
	}
	if set, err := mia.WorkspaceRules(t.Context(), p.of(mia, made.ID).ID); err != nil || len(set.Rules) != 3 {
		t.Errorf("a member's workspace has %+v, %v", set, err)
	}
	p.siteCloses(made.ID)
	p.templateChanges(made.ID)
}

// siteCloses: what the site denies, by a rule or because no rule of its own allows it, no Template opens.
func (p *permits) siteCloses(id chat.TemplateID) {
	p.t.Helper()
	for name, c := range map[string]struct {
		site client.RuleSet
		line string
		want string
	}{
		"a rule":                {client.RuleSet{Rules: []chat.Rule{{Effect: chat.PermitDeny, Tool: "execute", Command: "true *"}}}, "true x", "denied by a rule of the site: deny execute true *"},
		"the default":           {client.RuleSet{Default: chat.PermitDeny}, "true x", "the site denies what none of its own rules allows"},
		"the default in a line": {client.RuleSet{Default: chat.PermitDeny, Rules: []chat.Rule{{Effect: chat.PermitAllow, Tool: "execute", Command: "echo *"}}}, "echo a && true x", "the site denies"},
		"the site's own allow":  {client.RuleSet{Default: chat.PermitDeny, Rules: []chat.Rule{{Effect: chat.PermitAllow, Tool: "execute", Command: "echo *"}}}, "echo a", `"success":true`},
	} {
		if err := p.Client.SetSiteRules(p.t.Context(), c.site); err != nil {
			p.t.Fatal(err)
		}
		p.space = p.of(p.Client, id).ID
		if h := p.call("execute", command(c.line)); len(h.Open) > 0 || !strings.Contains(result(h), c.want) {
			p.t.Errorf("%s: %d open, %s", name, len(h.Open), result(h))
		}
		tried, err := p.Client.TryWorkspaceRules(p.t.Context(), p.space, client.RuleTry{Tool: "execute", Text: c.line})
		if err != nil || (tried.Effect == chat.PermitDeny) == strings.Contains(c.want, "success") {
			p.t.Errorf("%s: tried %+v, %v", name, tried, err)
		}
	}
	if err := p.Client.SetSiteRules(p.t.Context(), client.RuleSet{}); err != nil {
		p.t.Fatal(err)
	}
}

// templateChanges: another set is for what is made from then on; what is wrong is named; the audit says who and how many.
func (p *permits) templateChanges(id chat.TemplateID) {
	t := p.t
	t.Helper()
	before := p.of(p.Client, id).ID
	if _, err := p.Client.UpdateTemplate(t.Context(), id, chat.TemplateFields{Name: new("renamed")}); err != nil {
		t.Fatal(err)
	}
	if now, err := p.Client.Template(t.Context(), id); err != nil || len(now.Permissions.Rules) != 3 {
		t.Errorf("a change of the name leaves %+v, %v", now.Permissions, err)
	}
	if _, err := p.Client.UpdateTemplate(t.Context(), id, chat.TemplateFields{Permissions: &chat.RuleSet{Default: chat.PermitAsk}}); err != nil {
		t.Fatal(err)
	}
	if set, err := p.Client.WorkspaceRules(t.Context(), before); err != nil || len(set.Rules) != 3 {
		t.Errorf("a workspace that was made before has %+v, %v", set, err)
	}
	if set, err := p.Client.WorkspaceRules(t.Context(), p.of(p.Client, id).ID); err != nil || len(set.Rules) != 0 || set.Default != chat.PermitAsk {
		t.Errorf("one that was made after has %+v, %v", set, err)
	}
	_, err := p.Client.UpdateTemplate(t.Context(), id, chat.TemplateFields{Permissions: &chat.RuleSet{Default: "maybe", Rules: []chat.Rule{{Effect: chat.PermitDeny, Tool: "write_file", Path: "../x"}}}})
	if statusOf(err) != http.StatusBadRequest || !strings.Contains(fields(err), "permissions.default_set") || !strings.Contains(fields(err), "permissions.rules[0].path") {
		t.Errorf("%v: %s", err, fields(err))
	}
	page, err := p.Client.Audit(t.Context(), client.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, a := range page.Records {
		found = found || strings.Contains(a.Action, "UpdateTemplate") && a.Facts["default_set"] == "ask" && a.Facts["rules"] == "0"
	}
	if !found {
		t.Errorf("the audit has %+v", page.Records)
	}
}

// fields names what an error says is wrong.
func fields(err error) string {
	var out []string
	if e := (*chat.Error)(nil); errors.As(err, &e) {
		for _, v := range e.Validations {
			out = append(out, v.Field)
		}
	}
	return strings.Join(out, " ")
}
