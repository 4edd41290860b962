package chat

import (
	"context"
	"time"
)

// TemplateID names a Template: a UUID (v7) in its 36 character form.
type TemplateID string

// TemplateKind says how a Workspace's directory comes to be.
type TemplateKind string

const (
	// TemplateDirectory uses a directory that is there, as it is.
	TemplateDirectory TemplateKind = "directory"
	// TemplateClone makes a new clone of a repository.
	TemplateClone TemplateKind = "clone"
	// TemplateWorktree adds a worktree to a repository of this machine, on a branch of its own.
	TemplateWorktree TemplateKind = "worktree"
)

// TargetAppliance is the Target of a Template whose Workspaces stand on the appliance's own machine.
const TargetAppliance = "appliance"

// Template policies: whether commands in its Workspaces ask a person first.
const (
	PolicyAsk     = "ask"
	PolicyTrusted = "trusted"
)

// Template is what a new Workspace can be made from. Admins write them.
type Template struct {
	ID          TemplateID   `json:"id"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Kind        TemplateKind `json:"kind"`
	// Target is TargetAppliance, or the id of an Agent beside which its Workspaces are made.
	Target string `json:"target"`
	// Source is the directory of TemplateDirectory, else the repository: a path, a bundle, or an ssh or https address.
	Source string `json:"source"`
	// Directory is where clones and worktrees are made; "" is the appliance's own choice.
	Directory string `json:"directory,omitempty"`
	// AllowAgents: models may make Workspaces from it. AllowMembers: people who are no admins may, which lets them run commands on
	// the machine.
	AllowAgents  bool `json:"allow_agents"`
	AllowMembers bool `json:"allow_members"`
	// Setup is a command that runs once in a new Workspace, at most SetupTimeoutMS long; 0 is ten minutes.
	Setup          string `json:"setup"`
	SetupTimeoutMS int64  `json:"setup_timeout_ms"`
	// SetupNetwork: Setup may use the network where it is confined.
	SetupNetwork bool `json:"setup_network"`
	// TTLMS is how long a Workspace may be idle before it is stopped, 0 for ever. Autostop false: it never is.
	TTLMS    int64 `json:"ttl_ms"`
	Autostop bool  `json:"autostop"`
	// Variables are in the environment of Setup and of all later commands. They are no place for secrets.
	Variables map[string]string `json:"variables"`
	// Policy is PolicyAsk or PolicyTrusted. Sandbox is the profile of its commands.
	Policy  string `json:"policy"`
	Sandbox string `json:"sandbox"`
	// Permissions are the rules that its Workspaces begin with.
	Permissions RuleSet   `json:"permissions,omitzero"`
	CreatedAt   time.Time `json:"created_at"`
}

// TargetBeside says whether a Template's Target is an Agent.
func TargetBeside(target string) bool { return target != "" && target != TargetAppliance }

// TemplateFields are what may be said of a Template; nil leaves it as it is.
type TemplateFields struct {
	Name           *string           `json:"name,omitempty"`
	Description    *string           `json:"description,omitempty"`
	Kind           *TemplateKind     `json:"kind,omitempty"`
	Target         *string           `json:"target,omitempty"`
	Source         *string           `json:"source,omitempty"`
	Directory      *string           `json:"directory,omitempty"`
	AllowAgents    *bool             `json:"allow_agents,omitempty"`
	AllowMembers   *bool             `json:"allow_members,omitempty"`
	Setup          *string           `json:"setup,omitempty"`
	SetupTimeoutMS *int64            `json:"setup_timeout_ms,omitempty"`
	SetupNetwork   *bool             `json:"setup_network,omitempty"`
	TTLMS          *int64            `json:"ttl_ms,omitempty"`
	Autostop       *bool             `json:"autostop,omitempty"`
	Policy         *string           `json:"policy,omitempty"`
	Sandbox        *string           `json:"sandbox,omitempty"`
	Variables      map[string]string `json:"variables,omitempty"`
	// Permissions replace all rules.
	Permissions *RuleSet `json:"permissions,omitempty"`
}

// TemplateWith gives the Template with the fields changed.
func TemplateWith(t Template, f TemplateFields) Template {
	set(&t.Name, f.Name)
	set(&t.Description, f.Description)
	set(&t.Kind, f.Kind)
	set(&t.Target, f.Target)
	set(&t.Source, f.Source)
	set(&t.Directory, f.Directory)
	set(&t.AllowAgents, f.AllowAgents)
	set(&t.AllowMembers, f.AllowMembers)
	set(&t.Setup, f.Setup)
	set(&t.SetupTimeoutMS, f.SetupTimeoutMS)
	set(&t.SetupNetwork, f.SetupNetwork)
	set(&t.TTLMS, f.TTLMS)
	set(&t.Autostop, f.Autostop)
	set(&t.Policy, f.Policy)
	set(&t.Sandbox, f.Sandbox)
	set(&t.Permissions, f.Permissions)
	if f.Variables != nil {
		t.Variables = f.Variables
	}
	return t
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Bounds of Templates.
const (
	SetupTimeout    = 10 * time.Minute
	MaxSetupTimeout = 2 * time.Hour
	MaxWorkspaceTTL = 30 * 24 * time.Hour
	// SetupLogKept is how much of the end of a setup's log is kept with the Workspace.
	SetupLogKept = 4 << 10
)

// Making is how a Workspace came from a Template.
type Making struct {
	TemplateID TemplateID `json:"template_id,omitempty"`
	// ChatID is the Chat whose model had it made, "" when a person did.
	ChatID ID           `json:"chat_id,omitempty"`
	Kind   TemplateKind `json:"kind,omitempty"`
	Source string       `json:"source,omitempty"`
	// Parent is where its directory is made; Branch what was asked for, then the one that a worktree has.
	Parent string `json:"parent,omitempty"`
	Branch string `json:"branch,omitempty"`
	// Setup is the whole script as it was when somebody agreed to it.
	Setup          string `json:"setup,omitempty"`
	SetupTimeoutMS int64  `json:"setup_timeout_ms,omitempty"`
	// Variables are in the environment of its commands.
	Variables map[string]string `json:"variables,omitempty"`
	// Log is the end of what making and setup said.
	Log string `json:"log,omitempty"`
	// Deadline is when the Workspace is stopped unless it is used before, zero for never. It is worked out and not stored.
	Deadline time.Time `json:"-"`
}

// Maker makes and removes the directories of Workspaces that come from a Template.
type Maker interface {
	// Make makes the directory of a Workspace under its name, or under name-2 and so on where that is taken, and gives the record's
	// Directory and Branch. log gets what happens, in pieces. A directory that could not be made whole is not left behind.
	Make(ctx context.Context, rec WorkspaceRecord, log func(string)) (Made, error)
	// Remove removes a worktree, and of any Workspace here what its commands can make anew. While a worktree has changes that stand nowhere
	// else it is a KindWrongState Error, unless discard.
	Remove(ctx context.Context, rec WorkspaceRecord, discard bool) error
}

// Made is a directory that was made.
type Made struct{ Directory, Branch string }
