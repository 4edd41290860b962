package ui

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/ui/view"
)

// The selects of a Template's form: values and labels in turn.
var (
	kindChoices = []string{string(chat.TemplateDirectory), "A folder, as it is", string(chat.TemplateClone), "A new clone of a repository",
		string(chat.TemplateWorktree), "A worktree of a repository"}
	policyChoices  = []string{chat.PolicyAsk, "as the sandbox allows, else ask", chat.PolicyTrusted, "trusted: run without asking"}
	defaultChoices = []string{"", "what Holdfast does by itself", string(chat.PermitAsk), "ask", string(chat.PermitDeny), "deny", string(chat.PermitAllow), "allow"}
	profileChoices = []string{string(chat.ProfileWorkspace), "write in the workspace, no network", string(chat.ProfileReadOnly), "only read",
		string(chat.ProfileNetwork), "write in the workspace, with network", string(chat.ProfileOff), "none"}
)

// kindWords are the kinds in a word.
var kindWords = map[chat.TemplateKind]string{chat.TemplateDirectory: "folder", chat.TemplateClone: "clone", chat.TemplateWorktree: "worktree"}

// templateView is a Template as its page shows it; targets are as templateGroups takes them.
func templateView(t chat.Template, targets []string) view.Template {
	out := view.Template{ID: string(t.ID), Name: t.Name, Description: t.Description, Kind: kindWords[t.Kind], Models: t.AllowAgents,
		Groups: templateGroups(string(t.ID), templateValues(t), nil, targets)}
	var facts []string
	if chat.TargetBeside(t.Target) {
		out.Target = labelOf(targets, t.Target)
	}
	if t.Setup != "" {
		facts = append(facts, "with setup")
	}
	if n := len(t.Permissions.Rules); n > 0 {
		facts = append(facts, view.Count(n, "rule"))
	}
	if t.AllowMembers {
		facts = append(facts, "for everybody")
	}
	switch {
	case !t.Autostop:
		facts = append(facts, "never stopped")
	case t.TTLMS > 0:
		facts = append(facts, "stops after "+spanText(t.TTLMS))
	}
	out.Facts = strings.Join(facts, " · ")
	return out
}

// templateValues are the texts of a Template's form, by the names of its fields.
func templateValues(t chat.Template) map[string]string {
	box := func(on bool) string {
		if on {
			return "1"
		}
		return ""
	}
	var vars strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t.Variables)) {
		vars.WriteString(name + "=" + t.Variables[name] + "\n")
	}
	return map[string]string{"name": t.Name, "description": t.Description, "kind": string(t.Kind), "source": t.Source, "directory": t.Directory, "target": t.Target,
		"setup": t.Setup, "setup_timeout_ms": spanText(t.SetupTimeoutMS), "setup_network": box(t.SetupNetwork), "variables": vars.String(),
		"allow_agents": box(t.AllowAgents), "allow_members": box(t.AllowMembers), "policy": t.Policy, "sandbox": t.Sandbox,
		"ttl_ms": spanText(t.TTLMS), "autostop": box(t.Autostop), "permissions": ruleLines(t.Permissions.Rules), "permissions_default": string(t.Permissions.Default)}
}

// labelOf is what a select with these values and labels says of a value.
func labelOf(pairs []string, value string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == value {
			return pairs[i+1]
		}
	}
	return "an agent that cannot make workspaces now"
}

// templateGroups are the fields of a Template's form with their values and what is wrong with them, by name. targets are where its
// Workspaces can be made, as values and labels in turn.
func templateGroups(id string, values, wrong map[string]string, targets []string) []view.FieldGroup {
	if at := values["target"]; chat.TargetBeside(at) && !slices.Contains(targets, at) {
		targets = append(targets[:len(targets):len(targets)], at, labelOf(targets, at))
	}
	line := func(name, label, hint string) view.Field {
		return view.Field{ID: "t-" + name + "-" + id, Name: name, Label: label, Hint: hint, Value: values[name], Error: wrong[name]}
	}
	choice := func(name, label, hint string, pairs []string) view.Field {
		f := line(name, label, hint)
		f.Options = view.Choices(values[name], pairs...)
		return f
	}
	box := func(name, label, hint string) view.Field {
		return view.Field{Box: true, Name: name, Label: label, Hint: hint, Checked: values[name] != ""}
	}
	long := func(name, label, hint string, lines int) view.Field {
		f := line(name, label, hint)
		f.Lines = lines
		return f
	}
	short := func(name, label, hint string) view.Field {
		f := line(name, label, hint)
		f.Short = true
		return f
	}
	first := []view.Field{line("name", "Name", ""), choice("kind", "What is made", "", kindChoices)}
	source, directory := "A path on this machine; to clone also a bundle, or an address with https:// or ssh://.", "A folder on this machine. Empty: holdfast-workspaces in the home directory."
	if len(targets) > 2 {
		first = append(first, choice("target", "Where", "On this machine, or beside an agent that lets workspaces be made.", targets))
		source = "A path on that machine; to clone also a bundle, or an address with https:// or ssh://. Beside an agent it lies below a directory that its --make-in names."
		directory = "A folder on that machine. Empty: holdfast-workspaces in the home directory, or the agent's first --make-in."
	}
	return []view.FieldGroup{
		{Fields: append(first, line("source", "Folder or repository", source), line("directory", "Made in", directory),
			long("description", "Description", "A model chooses by it.", 2))},
		{Title: "Who may use it", Fields: []view.Field{
			box("allow_agents", "Models", "A model may make the workspace of its chat from it."),
			box("allow_members", "People who are no admins", "That lets them, and their models, run commands where it is made.")}},
		{Title: "Setup", Fields: []view.Field{
			long("setup", "Command", "Runs once in each new workspace, in its sandbox, before anything else.", 4),
			long("variables", "Variables", "NAME=value, one a line, for the setup and all commands. No place for secrets: a model can read them.", 4),
			short("setup_timeout_ms", "At most", "Such as 90s or 20m. Empty: 10m."),
			box("setup_network", "With network", "The setup reaches the network, whatever the sandbox says.")}},
		{Title: "Commands", Fields: []view.Field{choice("policy", "Commands", "", policyChoices),
			choice("sandbox", "Sandbox", "", profileChoices)}},
		{Title: "Permissions", Fields: []view.Field{
			long("permissions", "Rules", "One a line: allow, ask or deny, then a tool, then a path or the words of a command, such as deny execute rm * or allow write_file docs/**. New workspaces begin with them, and their owners may change them. What the site denies stays denied.", 4),
			choice("permissions_default", "What no rule speaks of", "", defaultChoices)}},
		{Title: "Lifetime", Fields: []view.Field{
			box("autostop", "Stop it when it is idle", "Without it, its workspaces run until somebody stops them, whatever else is said."),
			short("ttl_ms", "After", "Such as 30m, 2h or 7d, at most 30d. Empty: never, unless the page of workspaces names a time.")}},
	}
}

// templateFields reads the form of a Template. wrong says by name what cannot be read.
func templateFields(form url.Values) (in chat.TemplateFields, wrong map[string]string) {
	wrong = map[string]string{}
	text := func(name string) *string {
		s := strings.TrimSpace(form.Get(name))
		return &s
	}
	box := func(name string) *bool {
		on := form.Get(name) != ""
		return &on
	}
	span := func(name string) *int64 {
		ms, ok := parseSpan(form.Get(name))
		if !ok {
			wrong[name] = "Write a time such as 30m, 2h or 7d, or nothing."
		}
		return &ms
	}
	kind := chat.TemplateKind(form.Get("kind"))
	in = chat.TemplateFields{Name: text("name"), Description: text("description"), Kind: &kind, Source: text("source"), Directory: text("directory"),
		AllowAgents: box("allow_agents"), AllowMembers: box("allow_members"), Setup: text("setup"), SetupTimeoutMS: span("setup_timeout_ms"),
		SetupNetwork: box("setup_network"), TTLMS: span("ttl_ms"), Autostop: box("autostop"), Policy: text("policy"), Sandbox: text("sandbox"),
		Variables: map[string]string{}}
	if form.Has("target") {
		in.Target = text("target")
	}
	if kind == chat.TemplateDirectory {
		// Its field is not shown then.
		*in.Directory = ""
	}
	in.Permissions = &chat.RuleSet{Default: chat.Permission(form.Get("permissions_default"))}
	if rules, problem := readRules(form.Get("permissions")); problem != "" {
		wrong["permissions"] = problem
	} else {
		in.Permissions.Rules = rules
	}
	n := 0
	for line := range strings.Lines(form.Get("variables")) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if _, twice := in.Variables[name]; twice || !found {
			wrong["variables"] = fmt.Sprintf("Line %d must be NAME=value, each name once.", n)
			break
		}
		in.Variables[name] = value
	}
	return in, wrong
}

// spanText writes a time as people enter it: 90s, 30m, 2h, 7d; "" for none.
func spanText(ms int64) string {
	for _, u := range []struct {
		size time.Duration
		sign string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}, {time.Millisecond, "ms"}} {
		if size := u.size.Milliseconds(); ms > 0 && ms%size == 0 {
			return strconv.FormatInt(ms/size, 10) + u.sign
		}
	}
	return ""
}

// parseSpan reads what spanText writes, and 1h30m; nothing is 0.
func parseSpan(s string) (ms int64, ok bool) {
	s = strings.ReplaceAll(strings.TrimSpace(s), " ", "")
	if s == "" || s == "0" {
		return 0, true
	}
	if days, is := strings.CutSuffix(s, "d"); is {
		n, err := strconv.ParseInt(days, 10, 32)
		return n * (24 * time.Hour).Milliseconds(), err == nil
	}
	d, err := time.ParseDuration(s)
	return d.Milliseconds(), err == nil
}
