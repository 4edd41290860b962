package chat

// Permission is what becomes of a Call.
type Permission string

const (
	PermitAllow Permission = "allow"
	PermitAsk   Permission = "ask"
	PermitDeny  Permission = "deny"
	// PermitStandard is, as a default, what the appliance decides by itself (tools.md 3); "" is the same.
	PermitStandard Permission = "standard"
)

// Rule is about the Calls of a Tool: all of them, or those on Path, or those whose Command fits.
type Rule struct {
	Effect Permission `json:"effect"`
	// Tool is a name, *, mcp:slug__tool or mcp:slug__*.
	Tool string `json:"tool"`
	// Path is a glob with **; Command words with *. At most one is set.
	Path    string `json:"path,omitempty"`
	Command string `json:"command,omitempty"`
}

// String is the rule as a person reads it: "deny execute rm *".
func (r Rule) String() string {
	s := string(r.Effect) + " " + r.Tool
	if what := r.Path + r.Command; what != "" {
		s += " " + what
	}
	return s
}

// RuleSet is the permission policy of the site, a Workspace or a Chat.
type RuleSet struct {
	// Default is about what no rule speaks of.
	Default Permission `json:"default_set"`
	Rules   []Rule     `json:"rules"`
}

// Target is where a path leads.
type Target struct {
	// Path is the real one: relative to the Workspace with slashes, absolute or beginning with .. for what is not in it.
	Path string `json:"path"`
	// Protected: it decides what runs or what models are told. Shared: the file has other names too, so that writing it changes those.
	Protected bool `json:"protected,omitempty"`
	Shared    bool `json:"shared,omitempty"`
	// Outside: it is not in the Workspace. Refused: it belongs to the appliance or its Agent, and is never reached.
	Outside bool `json:"outside,omitempty"`
	Refused bool `json:"refused,omitempty"`
}

// Targets are where paths lead, in their order. FoldsCase: the file system takes names that differ only in case for one.
type Targets struct {
	List      []Target
	FoldsCase bool
}

// Leave bounds where a change of files may lead.
type Leave struct {
	// Targets are the real paths that were decided about; a change of another one is "changed". nil is any.
	Targets []string
	// Agreed are those of them that a person agreed to change although they are protected or shared.
	Agreed []string
}

// Asked is what the card of a Call shows beyond its arguments; it is compared again before the Call runs.
type Asked struct {
	// Why is why a person is asked; Rule is the rule that says so, nil for none.
	Why  string `json:"why"`
	Rule *Rule  `json:"rule,omitempty"`
	// Directory is where a command runs. Targets are the files that the Call is about, Files the change it would make.
	Directory string        `json:"directory,omitempty"`
	Targets   []Target      `json:"targets,omitempty"`
	Files     []ChangedFile `json:"files,omitempty"`
	// Sandbox confines the command; nil for what is none.
	Sandbox *Sandbox `json:"sandbox,omitempty"`
	// Offer are the rules that allow_chat and allow_always save, nil where no rule can allow just this. Always: there is a Workspace to
	// save them in.
	Offer  []Rule `json:"offer,omitempty"`
	Always bool   `json:"always,omitempty"`
	// Shown is the hash of all that was shown; Again is what has changed since it was allowed the first time.
	Shown string `json:"shown"`
	Again string `json:"again,omitempty"`
}
