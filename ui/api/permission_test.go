package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// checkRules sees every route of the permission rules.
func checkRules(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	w, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("hello"), WorkspaceID: w.ID})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	whole := `{"default_set":"ask","rules":[{"effect":"deny","tool":"execute","command":"rm *"},{"effect":"allow","tool":"*","path":"docs/**"},{"effect":"ask","tool":"mcp:tide__now"}]}`
	for _, at := range []string{"/chats/config/permissions", "/workspaces/" + string(w.ID) + "/permissions", "/chats/" + string(c.ID) + "/permissions"} {
		take(step{name: "never written", method: "GET", path: at, status: 200, has: []string{`{"default_set":"standard","rules":[]}`}})
		take(step{name: "rules", method: "PUT", path: at, body: whole, status: 204})
		take(step{name: "the same", method: "GET", path: at, status: 200, has: []string{whole}})
		for name, x := range map[string]struct{ body, field string }{
			"another default":        {`{"default_set":"maybe","rules":[]}`, "default_set"},
			"another effect":         {`{"rules":[{"effect":"no","tool":"execute"}]}`, "rules[0].effect"},
			"no tool":                {`{"rules":[{"effect":"ask","tool":"*"},{"effect":"deny","tool":""}]}`, "rules[1].tool"},
			"a tool with blanks":     {`{"rules":[{"effect":"deny","tool":"a b"}]}`, "rules[0].tool"},
			"a server's tool":        {`{"rules":[{"effect":"deny","tool":"tide__now"}]}`, "rules[0].tool"},
			"both":                   {`{"rules":[{"effect":"deny","tool":"*","path":"a","command":"b"}]}`, "rules[0].command"},
			"a path for a command":   {`{"rules":[{"effect":"deny","tool":"execute","path":"a"}]}`, "rules[0].path"},
			"a path above":           {`{"rules":[{"effect":"allow","tool":"write_file","path":"../a"}]}`, "rules[0].path"},
			"an absolute path":       {`{"rules":[{"effect":"allow","tool":"write_file","path":"/etc/**"}]}`, "rules[0].path"},
			"an open bracket":        {`{"rules":[{"effect":"deny","tool":"write_file","path":"a[b"}]}`, "rules[0].path"},
			"a command of a file":    {`{"rules":[{"effect":"deny","tool":"read_file","command":"ls"}]}`, "rules[0].command"},
			"a list of commands":     {`{"rules":[{"effect":"allow","tool":"execute","command":"ls; rm x"}]}`, "rules[0].command"},
			"a quoted word":          {`{"rules":[{"effect":"allow","tool":"execute","command":"git commit -m 'x'"}]}`, "rules[0].command"},
			"an unknown field":       {`{"rules":[{"effect":"deny","tool":"*","glob":"x"}]}`, "glob"},
			"a text for the rules":   {`{"rules":"x"}`, "rules"},
			"more than one line":     {`{"rules":[{"effect":"deny","tool":"execute","command":"a\nb"}]}`, "rules[0].command"},
			"a server with any path": {`{"rules":[{"effect":"deny","tool":"mcp:tide__*","path":"x"}]}`, "rules[0].path"},
		} {
			take(step{name: name, method: "PUT", path: at, body: x.body, status: 400, has: []string{x.field}})
		}
		take(step{name: "try a denied line", method: "POST", path: at + "/try", body: `{"tool":"execute","text":"ls; sudo rm x"}`, status: 200, has: []string{`"effect":"deny"`, `deny execute rm *`, `"from":"`}})
		take(step{name: "try a path", method: "POST", path: at + "/try", body: `{"tool":"write_file","text":"docs/a.md"}`, status: 200, has: []string{`"effect":"allow"`}})
		take(step{name: "try other rules", method: "POST", path: at + "/try", body: `{"tool":"execute","text":"go test ./... && rm -r x","rules":[{"effect":"allow","tool":"execute","command":"go test *"}]}`, status: 200,
			has: []string{`"effect":"`, `"why":"`}})
		take(step{name: "try no tool", method: "POST", path: at + "/try", body: `{"tool":"","text":"x"}`, status: 400, has: []string{"tool"}})
		take(step{name: "try bad rules", method: "POST", path: at + "/try", body: `{"tool":"execute","text":"x","rules":[{"effect":"no","tool":"execute"}]}`, status: 400, has: []string{"rules[0].effect"}})
		take(step{name: "taken back", method: "PUT", path: at, body: `{"default_set":"standard","rules":[]}`, status: 204})
	}
	wide := `{"default_set":"standard","rules":[{"effect":"allow","tool":"execute"}]}`
	_, member := a.AddUser(t, "a member with rules", chat.UserMember)
	mine, err := a.As(t, member).CreateChat(t.Context(), client.ChatCreate{Content: client.Text("hello")})
	if err != nil {
		t.Fatal(err)
	}
	at := "/chats/" + string(mine.ID) + "/permissions"
	take(step{name: "as good as trust", method: "PUT", path: at, token: member, body: wide, status: 403, has: []string{"rules[0].command"}})
	take(step{name: "any program", method: "PUT", path: at, token: member, body: strings.Replace(wide, `"execute"`, `"execute","command":"* x"`, 1), status: 403})
	take(step{name: "all allowed", method: "PUT", path: at, token: member, body: `{"default_set":"allow","rules":[]}`, status: 403, has: []string{"default_set"}})
	take(step{name: "a program", method: "PUT", path: at, token: member, body: `{"rules":[{"effect":"allow","tool":"execute","command":"go test *"}]}`, status: 204})
	take(step{name: "the site's", method: "PUT", path: "/chats/config/permissions", token: member, body: whole, status: 403})
	take(step{name: "another's", method: "GET", path: "/chats/" + string(c.ID) + "/permissions", token: member, status: 404})
	take(step{name: "try another's", method: "POST", path: "/chats/" + string(c.ID) + "/permissions/try", token: member, body: `{"tool":"execute","text":"ls"}`, status: 404})
	take(step{name: "try in another's place", method: "POST", path: "/workspaces/" + string(w.ID) + "/permissions/try", token: member, body: `{"tool":"execute","text":"ls"}`, status: 404})
	tried, err := a.Client.TryChatRules(t.Context(), c.ID, client.RuleTry{Tool: "write_file", Text: ".git/config"})
	if err != nil || tried.Effect != chat.PermitAsk || tried.Target != ".git/config" {
		t.Errorf("%+v, %v", tried, err)
	}
	take(step{name: "another's place", method: "PUT", path: "/workspaces/" + string(w.ID) + "/permissions", token: member, body: whole, status: 404})
}

// permits is an appliance whose model makes the Calls that the newest Message names, with one untrusted Workspace.
type permits struct {
	*apitest.Appliance
	t     *testing.T
	dir   string
	space chat.WorkspaceID
}

func newPermits(t *testing.T, data string) *permits {
	t.Helper()
	return &permits{t: t, Appliance: apitest.Start(t, apitest.Options{Dir: data, Answer: callsWhatIsSaid})}
}

// callsWhatIsSaid is a model that makes the Call that a Message of said names, or the Calls of a list of them.
func callsWhatIsSaid(q *scripted.Prompt) scripted.Reply {
	type call struct {
		Tool string
		Args json.RawMessage
	}
	last := q.Messages[len(q.Messages)-1]
	var all []call
	if text := []byte(last.Content); last.Role != "user" || json.Unmarshal(text, &all) != nil {
		var one call
		if last.Role != "user" || json.Unmarshal(text, &one) != nil {
			return scripted.Text("done")
		}
		all = []call{one}
	}
	var out []scripted.Call
	for _, c := range all {
		out = append(out, scripted.Call{Name: c.Tool, Args: c.Args})
	}
	return scripted.Calls(out...)
}

func (p *permits) place() *permits {
	p.t.Helper()
	var err error
	if p.dir, err = filepath.EvalSymlinks(p.t.TempDir()); err != nil {
		p.t.Fatal(err)
	}
	w, err := p.Client.CreateWorkspace(p.t.Context(), client.WorkspaceCreate{Directory: p.dir})
	if err != nil {
		p.t.Fatal(err)
	}
	p.space = w.ID
	return p
}

func (p *permits) rules(list ...chat.Rule) {
	p.t.Helper()
	if err := p.Client.SetWorkspaceRules(p.t.Context(), p.space, client.RuleSet{Rules: list}); err != nil {
		p.t.Fatal(err)
	}
}

// held is a Chat as its reader holds it.
type held struct {
	*client.Transcript
	id chat.ID
}

// call lets the model make one Call in a new Chat and gives what became of it: at rest, or with an open card.
func (p *permits) call(tool string, args any) held {
	p.t.Helper()
	return p.callIn(client.ChatCreate{WorkspaceID: p.space}, tool, args)
}

func (p *permits) callIn(c client.ChatCreate, tool string, args any) held {
	p.t.Helper()
	c.Content = client.Text(said(p.t, tool, args))
	made, err := p.Client.CreateChat(p.t.Context(), c)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.settled(made.ID)
}

func said(t *testing.T, tool string, args any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"tool": tool, "args": args})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (p *permits) settled(id chat.ID) held {
	p.t.Helper()
	return held{p.Until(p.t, id, func(h *client.Transcript) bool {
		return h.Status.Status.AtRest() && len(h.Messages) > 1 || h.Status.Status == chat.RequiresAction && len(h.Open) > 0
	}), id}
}

func (p *permits) again(id chat.ID, tool string, args any) held {
	p.t.Helper()
	before := p.settled(id)
	if _, err := p.Client.Send(p.t.Context(), id, client.MessageSend{Content: client.Text(said(p.t, tool, args))}); err != nil {
		p.t.Fatal(err)
	}
	return held{p.Until(p.t, id, func(h *client.Transcript) bool {
		return len(h.Messages) > len(before.Messages)+1 && (h.Status.Status.AtRest() || h.Status.Status == chat.RequiresAction && len(h.Open) > 0)
	}), id}
}

func (p *permits) approve(h held, decision string) error {
	return p.Client.Approve(p.t.Context(), h.id, h.Open[0].CallID, client.Approval{Decision: decision})
}

// result is the newest Result in JSON.
func result(h held) string {
	for i := len(h.Messages) - 1; i >= 0; i-- {
		if h.Messages[i].Role == "tool" {
			return string(h.Messages[i].Content[0].Result)
		}
	}
	return ""
}

func statusOf(err error) int {
	var e *chat.Error
	if errors.As(err, &e) {
		return e.StatusCode
	}
	return 0
}

func command(text string) map[string]string { return map[string]string{"command": text} }

// TestCase30AnAllowRuleCoversWholeLines: case 30.
func TestCase30AnAllowRuleCoversWholeLines(t *testing.T) {
	p := newPermits(t, "").place()
	p.rules(chat.Rule{Effect: chat.PermitAllow, Tool: "execute", Command: "true *"})
	for line, asks := range map[string]bool{"true ./...": false, "true ./... && rm -r x": true, "true $(cat f)": true, "true > ../y": true} {
		h := p.call("execute", command(line))
		if got := len(h.Open) > 0; got != asks {
			t.Errorf("%s asks: %t\n%s", line, got, result(h))
		}
		if !asks && !strings.Contains(result(h), `"success":true`) {
			t.Errorf("%s: %s", line, result(h))
		}
	}
}

// TestCase31ADenyRuleIsNeverGoneAround: case 31.
func TestCase31ADenyRuleIsNeverGoneAround(t *testing.T) {
	p := newPermits(t, "").place()
	p.rules(chat.Rule{Effect: chat.PermitAllow, Tool: "execute"}, chat.Rule{Effect: chat.PermitDeny, Tool: "execute", Command: "rm *"})
	file := filepath.Join(p.dir, "x")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"ls; sudo rm x", `sh -c "rm x"`, "/bin/rm x", "eval rm x", "$(echo rm) x", "r=rm; $r x", "echo x | xargs rm", "find . -name x -exec rm {} +", "r\\m x", "'rm' x"} {
		h := p.call("execute", command(line))
		if len(h.Open) == 0 && !strings.Contains(result(h), "denied by a rule of this workspace: deny execute rm *") {
			t.Errorf("%s: %s", line, result(h))
		}
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("%s ran: %v", line, err)
		}
	}
}

// TestCase32ProtectedPathsAskThroughLinksToo: case 32. Nothing but once is offered, and the card shows where the path leads and what would be written.
func TestCase32ProtectedPathsAskThroughLinksToo(t *testing.T) {
	p := newPermits(t, "").place()
	p.rules(chat.Rule{Effect: chat.PermitAllow, Tool: "*"})
	if err := os.MkdirAll(filepath.Join(p.dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".git/hooks", filepath.Join(p.dir, "h")); err != nil {
		t.Fatal(err)
	}
	hook := filepath.Join(p.dir, ".git", "hooks", "pre-commit")
	for _, name := range []string{".git/hooks/pre-commit", "h/pre-commit"} {
		h := p.call("write_file", map[string]string{"path": name, "content": "#!/bin/sh\n"})
		if len(h.Open) != 1 {
			t.Fatalf("%s does not ask: %s", name, result(h))
		}
		ask := h.Open[0].Asked
		if ask == nil || len(ask.Targets) != 1 || ask.Targets[0].Path != ".git/hooks/pre-commit" || !ask.Targets[0].Protected || len(ask.Offer) > 0 || ask.Always {
			t.Errorf("%s: %+v", name, ask)
		}
		if ask == nil || len(ask.Files) != 1 || !strings.Contains(ask.Files[0].Diff, "+#!/bin/sh") {
			t.Errorf("%s shows no change: %+v", name, ask)
		}
		for _, more := range []string{client.AllowChat, client.AllowAlways} {
			if err := p.approve(h, more); statusOf(err) != http.StatusBadRequest {
				t.Errorf("%s %s: %v", name, more, err)
			}
		}
		if _, err := os.Stat(hook); err == nil {
			t.Fatalf("%s was written unasked", name)
		}
		if err := p.approve(h, client.AllowOnce); err != nil {
			t.Fatal(err)
		}
		p.Rests(t, h.id)
		if text, err := os.ReadFile(hook); err != nil || string(text) != "#!/bin/sh\n" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if err := os.RemoveAll(filepath.Dir(hook)); err != nil {
			t.Fatal(err)
		}
	}
	h := p.call("execute", command("echo x > h/post-commit"))
	if len(h.Open) != 1 || h.Open[0].Asked.Targets[0].Path != ".git/hooks/post-commit" {
		t.Errorf("a redirection into a protected path: %s", result(h))
	}
}

// TestCase33AnAskSurvivesARestart: case 33.
func TestCase33AnAskSurvivesARestart(t *testing.T) {
	data := t.TempDir()
	p := newPermits(t, data).place()
	h := p.call("execute", command("echo x | tee -a ran"))
	if len(h.Open) != 1 {
		t.Fatalf("%s", result(h))
	}
	id, call, dir, token := h.id, h.Open[0].CallID, p.dir, p.Token
	p.Stop(t)
	p = newPermits(t, data)
	p.Client = p.As(t, token)
	_, other := p.AddUser(t, "other", chat.UserMember)
	if err := p.As(t, other).Approve(t.Context(), id, call, client.Approval{Decision: client.AllowOnce}); statusOf(err) != http.StatusNotFound {
		t.Errorf("another user: %v", err)
	}
	if err := p.Client.Approve(t.Context(), id, call, client.Approval{Decision: client.AllowOnce}); err != nil {
		t.Fatal(err)
	}
	if err := p.Client.Approve(t.Context(), id, call, client.Approval{Decision: client.Deny}); statusOf(err) != http.StatusConflict {
		t.Errorf("a second answer: %v", err)
	}
	p.Rests(t, id)
	if err := p.Client.Approve(t.Context(), id, call, client.Approval{Decision: client.AllowOnce}); statusOf(err) != http.StatusConflict {
		t.Errorf("a late answer: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || string(text) != "x\n" {
		t.Errorf("ran %q, %v", text, err)
	}
}

// TestTwoTabsAnswerAtOnce: the first answer counts.
func TestTwoTabsAnswerAtOnce(t *testing.T) {
	p := newPermits(t, "").place()
	h := p.call("execute", command("echo x | tee -a ran"))
	done := make(chan error, 8)
	for i := range cap(done) {
		go func() { done <- p.approve(h, []string{client.AllowOnce, client.Deny}[i%2]) }()
	}
	won := 0
	for range cap(done) {
		if err := <-done; err == nil {
			won++
		} else if statusOf(err) != http.StatusConflict {
			t.Error(err)
		}
	}
	h.Transcript = p.Rests(t, h.id)
	if won != 1 {
		t.Errorf("%d answers count", won)
	}
	if n := len(h.Messages); n != 4 {
		t.Errorf("%d messages: %q", n, apitest.Texts(h.Messages))
	}
}

// TestAllowForTheChat: what was allowed runs unasked in this Chat, another line asks again, and so does another Chat.
func TestAllowForTheChat(t *testing.T) {
	p := newPermits(t, "").place()
	h := p.call("execute", command("true ./..."))
	want := chat.Rule{Effect: chat.PermitAllow, Tool: "execute", Command: "true ./..."}
	if len(h.Open) != 1 || len(h.Open[0].Asked.Offer) != 1 || h.Open[0].Asked.Offer[0] != want || !h.Open[0].Asked.Always {
		t.Fatalf("%+v", h.Open)
	}
	if err := p.approve(h, client.AllowChat); err != nil {
		t.Fatal(err)
	}
	id := h.id
	p.Rests(t, id)
	if h = p.again(id, "execute", command("true ./...")); len(h.Open) > 0 || !strings.Contains(result(h), `"success":true`) {
		t.Errorf("the same command asks again: %s", result(h))
	}
	if h = p.again(id, "execute", command("true ./... && rm -r x")); len(h.Open) != 1 {
		t.Errorf("another line ran: %s", result(h))
	} else if offer := h.Open[0].Asked.Offer; len(offer) != 1 || offer[0].Command != "rm -r x" {
		t.Errorf("offered %v", offer)
	}
	set, err := p.Client.ChatRules(t.Context(), id)
	if err != nil || len(set.Rules) != 1 || set.Rules[0] != want {
		t.Errorf("%+v, %v", set, err)
	}
	if h = p.call("execute", command("true ./...")); len(h.Open) != 1 {
		t.Errorf("another chat: %s", result(h))
	}
	if err := p.approve(h, client.AllowAlways); err != nil {
		t.Fatal(err)
	}
	p.Rests(t, h.id)
	if set, err = p.Client.WorkspaceRules(t.Context(), p.space); err != nil || len(set.Rules) != 1 || set.Rules[0] != want {
		t.Errorf("%+v, %v", set, err)
	}
	if h = p.call("execute", command("true ./...")); len(h.Open) > 0 {
		t.Errorf("always asks again")
	}
}

// TestWhatChangedIsAskedAboutAnew: the link leads elsewhere when the answer comes, and the file is another one.
func TestWhatChangedIsAskedAboutAnew(t *testing.T) {
	p := newPermits(t, "").place()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	agents := filepath.Join(p.dir, "AGENTS.md")
	must(os.WriteFile(agents, []byte("one\n"), 0o600))
	h := p.call("edit_files", map[string]any{"files": []any{map[string]any{"path": "AGENTS.md", "edits": []any{map[string]string{"search": "one", "replace": "two"}}}}})
	if len(h.Open) != 1 {
		t.Fatal(result(h))
	}
	first := h.Open[0].Asked.Shown
	must(os.WriteFile(agents, []byte("zero\none\n"), 0o600))
	must(p.approve(h, client.AllowOnce))
	h.Transcript = p.Until(t, h.id, func(h *client.Transcript) bool {
		return len(h.Open) == 1 && h.Open[0].Asked != nil && h.Open[0].Asked.Again != ""
	})
	if !strings.Contains(h.Open[0].Asked.Again, "file has changed") {
		t.Errorf("%+v", h.Open[0].Asked)
	}
	if text, err := os.ReadFile(agents); err != nil || string(text) != "zero\none\n" {
		t.Errorf("%q, %v", text, err)
	}
	stale := client.Approval{Decision: client.AllowOnce, Shown: first}
	if err := p.Client.Approve(t.Context(), h.id, h.Open[0].CallID, stale); statusOf(err) != http.StatusConflict {
		t.Errorf("an answer to the old card: %v", err)
	}
	stale.Shown = h.Open[0].Asked.Shown
	must(p.Client.Approve(t.Context(), h.id, h.Open[0].CallID, stale))
	p.Rests(t, h.id)
	if text, err := os.ReadFile(agents); err != nil || string(text) != "zero\ntwo\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestDeniedPathsAreLeftOut: lists and searches say that they left something out, and reading says which rule it was.
func TestDeniedPathsAreLeftOut(t *testing.T) {
	p := newPermits(t, "").place()
	if err := os.MkdirAll(filepath.Join(p.dir, "secret"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret/key", "open.txt"} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte("tide\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("secret/key", filepath.Join(p.dir, "way")); err != nil {
		t.Fatal(err)
	}
	p.rules(chat.Rule{Effect: chat.PermitDeny, Tool: "*", Path: "secret/**"})
	for _, c := range []struct {
		tool string
		args any
		has  string
		not  string
	}{
		{"list_files", map[string]any{"path": "."}, "left out by permission rules", "secret/key"},
		{"search_files", map[string]any{"pattern": "tide", "kind": "content"}, "left out by permission rules", "secret/key"},
		{"search_files", map[string]any{"pattern": "**", "kind": "name"}, "left out by permission rules", "secret/key"},
		{"read_file", map[string]any{"path": "way"}, "deny * secret/**", "tide"},
		{"write_file", map[string]any{"path": "secret/new", "content": "x"}, "deny * secret/**", ""},
		{"execute", command("echo x > secret/new"), "deny * secret/**", ""},
	} {
		got := result(p.call(c.tool, c.args))
		if !strings.Contains(got, c.has) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s %v: %s", c.tool, c.args, got)
		}
	}
}

// TestTheApplianceItselfIsNeverReached: no rule and no person lets a Call write there.
func TestTheApplianceItselfIsNeverReached(t *testing.T) {
	p := newPermits(t, "").place()
	p.rules(chat.Rule{Effect: chat.PermitAllow, Tool: "*"})
	if got := result(p.call("execute", command("echo x > "+filepath.Join(p.Dir, "holdfast.db")))); !strings.Contains(got, "belongs to the appliance") {
		t.Error(got)
	}
}

// TestWhereNobodyCanBeAskedItIsDenied: a Chat that was made unattended.
func TestWhereNobodyCanBeAskedItIsDenied(t *testing.T) {
	p := newPermits(t, "").place()
	h := p.callIn(client.ChatCreate{WorkspaceID: p.space, Unattended: true}, "execute", command("echo x > ran"))
	if len(h.Open) > 0 || !strings.Contains(result(h), "nobody can be asked") {
		t.Errorf("%+v %s", h.Open, result(h))
	}
	if _, err := os.Stat(filepath.Join(p.dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

// TestCase34WithoutASandboxItAsks: case 34, first half. The card and the Result say that nothing confines the command.
func TestCase34WithoutASandboxItAsks(t *testing.T) {
	p := newPermits(t, "").place()
	h := p.call("execute", command("echo x > ran"))
	if len(h.Open) != 1 || h.Open[0].Asked.Sandbox == nil || h.Open[0].Asked.Sandbox.Level != chat.SandboxNone {
		t.Fatalf("%+v", h.Open)
	}
	if err := p.approve(h, client.AllowOnce); err != nil {
		t.Fatal(err)
	}
	h.Transcript = p.Rests(t, h.id)
	if !strings.Contains(result(h), `"level":"none"`) {
		t.Error(result(h))
	}
}
