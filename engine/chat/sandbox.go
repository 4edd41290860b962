package chat

import "context"

// Profile says how far a Workspace's commands are confined (tools.md 3).
type Profile string

const (
	// ProfileDefault is what a Workspace has that nobody chose for: workspace, or off where commands are trusted.
	ProfileDefault Profile = ""
	// ProfileReadOnly changes nothing that lasts and has no network.
	ProfileReadOnly Profile = "read-only"
	// ProfileWorkspace writes in the Workspace and the Chat's temporary directory and has no network.
	ProfileWorkspace Profile = "workspace"
	// ProfileNetwork is ProfileWorkspace with the network.
	ProfileNetwork Profile = "network"
	// ProfileOff confines nothing.
	ProfileOff Profile = "off"
)

// Known says whether there is such a profile.
func (p Profile) Known() bool {
	switch p {
	case ProfileDefault, ProfileReadOnly, ProfileWorkspace, ProfileNetwork, ProfileOff:
		return true
	}
	return false
}

// Profile is how far commands are confined in the Workspace: what its owner chose, else not at all where they are trusted.
func (w WorkspaceRecord) Profile() Profile {
	switch {
	case w.Sandbox != ProfileDefault:
		return w.Sandbox
	case w.Trusted:
		return ProfileOff
	}
	return ProfileWorkspace
}

// SandboxLevel is what a machine can hold a command to, as it was measured.
type SandboxLevel string

const (
	SandboxFull    SandboxLevel = "full"
	SandboxPartial SandboxLevel = "partial"
	SandboxNone    SandboxLevel = "none"
)

// Sandbox says what confines a command and what is open to it all the same, in words for a person.
type Sandbox struct {
	Level   SandboxLevel `json:"level"`
	Profile Profile      `json:"profile"`
	Open    []string     `json:"open"`
}

// Full says whether the command can neither write outside of its Workspace nor reach the network.
func (s Sandbox) Full() bool {
	return s.Level == SandboxFull && (s.Profile == ProfileWorkspace || s.Profile == ProfileReadOnly)
}

// NoSandbox is the Sandbox of a command that nothing confines.
func NoSandbox() Sandbox {
	return Sandbox{Level: SandboxNone, Profile: ProfileOff, Open: []string{"files", "network", "processes"}}
}

// Sandboxed is a Workspace that confines its commands.
type Sandboxed interface {
	// Sandbox tells what would confine a command with this profile; ProfileDefault is the Workspace's own.
	Sandbox(p Profile) Sandbox
}

// SandboxMeter are Workspaces that know what this machine can confine.
type SandboxMeter interface {
	// Sandbox tells what confines the commands of a Workspace with this record, without opening it, and why the level of its machine
	// is not full; "" when it is.
	Sandbox(ctx context.Context, rec WorkspaceRecord) (s Sandbox, reason string)
}
