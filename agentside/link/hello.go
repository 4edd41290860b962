package link

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"holdfast/agentside/link/wire"
	"holdfast/engine/chat"
)

// Major and Minor are the version of the protocol that this binary speaks. Another major version is another protocol.
const (
	Major = 1
	Minor = 4
)

// Capabilities that a side may have.
const (
	CapProcesses = "proc/1"
	CapFiles     = "files/1"
	CapGit       = "git/1"
	CapContext   = "context/1"
	CapPush      = "context.push/1"
	// CapSandbox: commands are confined to the profile that a start names, and the greeting tells how far.
	CapSandbox = "sandbox/1"
	// CapServers: the MCP servers that the files name run beside the Agent.
	CapServers = "mcp/1"
	// CapRules: it says where paths lead, and holds a write to what was decided about.
	CapRules = "rules/1"
	// CapKeep: it keeps texts that are too long for a Result.
	CapKeep = "outputs/1"
	// CapPlaces: the appliance may make Workspaces there, below the directories that the Agent's owner named.
	CapPlaces = chat.CapabilityPlaces
)

// Capabilities are all that this binary has as an Agent by itself; CapPlaces comes with directories to make Workspaces in.
func Capabilities() []string {
	return []string{CapProcesses, CapFiles, CapGit, CapContext, CapPush, CapSandbox, CapServers, CapRules, CapKeep}
}

// sinceMinor is the minor version that brought a capability; those that are not named came with 0.
var sinceMinor = map[string]int{CapPush: 1, CapContext: 2, CapSandbox: 2, CapServers: 3, CapRules: 3, CapKeep: 4, CapPlaces: 4}

// sinceWhat is what an Agent without a capability cannot do.
var sinceWhat = map[string]string{
	CapProcesses: "run commands",
	CapFiles:     "read and write files",
	CapGit:       "read repositories",
	CapContext:   "look at its context anew",
	CapServers:   "run the MCP servers that its files name",
	CapRules:     "hold a write to the rules, so nothing was written",
	CapKeep:      "keep the whole of a long result",
	CapPlaces:    "make workspaces",
}

// Hello is how a side presents itself.
type Hello struct {
	Major, Minor  int
	Capabilities  []string
	BootID        string
	BinaryVersion string
	OS, Arch      string
	Shell         string
	// Sandbox is the level of what confines commands, SandboxOpen what stays open at it, SandboxReason why it is not full.
	Sandbox       string
	SandboxOpen   []string
	SandboxReason string
}

// VersionError is that the other side speaks another major version.
type VersionError struct{ Ours, Theirs int }

// Error names both numbers.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the other side speaks version %d of the link, this one version %d; both need the same: bring both to the same release", e.Theirs, e.Ours)
}

// Terms are what both sides of a link can do.
type Terms struct {
	Minor        int
	Capabilities []string
}

// Has says whether both sides have a capability.
func (t Terms) Has(capability string) bool { return slices.Contains(t.Capabilities, capability) }

// lacking gives the first of the capabilities that not both sides have, "" for none; "" is always had.
func (t Terms) lacking(all ...string) string {
	for _, c := range all {
		if c != "" && !t.Has(c) {
			return c
		}
	}
	return ""
}

// Agree finds what two sides have in common. The lower minor version counts. A different major version is a *VersionError.
func Agree(ours, theirs Hello) (Terms, error) {
	if ours.Major != theirs.Major {
		return Terms{}, &VersionError{Ours: ours.Major, Theirs: theirs.Major}
	}
	t := Terms{Minor: min(ours.Minor, theirs.Minor), Capabilities: []string{}}
	for _, c := range ours.Capabilities {
		if slices.Contains(theirs.Capabilities, c) && sinceMinor[c] <= t.Minor {
			t.Capabilities = append(t.Capabilities, c)
		}
	}
	slices.Sort(t.Capabilities)
	return t, nil
}

// Bounds of what a Hello may hold.
const (
	maxCapabilities = 64
	maxGreetingText = 128
	maxOpen         = 32
)

// check refuses a Hello that no sound program sends.
func (h Hello) check() error {
	if len(h.Capabilities) > maxCapabilities {
		return fmt.Errorf("a greeting names at most %d capabilities", maxCapabilities)
	}
	if len(h.SandboxOpen) > maxOpen || len(h.SandboxReason) > 4*maxGreetingText || !printable(h.SandboxReason) {
		return fmt.Errorf("a greeting names at most %d things that are open, and why in at most %d bytes", maxOpen, 4*maxGreetingText)
	}
	for _, text := range append(append([]string{h.BootID, h.BinaryVersion, h.OS, h.Arch, h.Shell, h.Sandbox}, h.Capabilities...), h.SandboxOpen...) {
		if len(text) > maxGreetingText || !printable(text) {
			return fmt.Errorf("a text of a greeting has at most %d bytes and no control characters", maxGreetingText)
		}
	}
	if h.BootID == "" {
		return fmt.Errorf("a greeting names the run that it is of")
	}
	return nil
}

// plain makes a text fit for a greeting.
func plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, valid(text))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

func (h Hello) toWire() *wire.Greeting {
	return &wire.Greeting{Major: uint32(h.Major), Minor: uint32(h.Minor), Capabilities: h.Capabilities, BootId: h.BootID,
		BinaryVersion: h.BinaryVersion, Os: h.OS, Arch: h.Arch, Shell: h.Shell, Sandbox: h.Sandbox,
		SandboxOpen: h.SandboxOpen, SandboxReason: plain(h.SandboxReason, 4*maxGreetingText)}
}

func helloFrom(g *wire.Greeting) Hello {
	return Hello{Major: int(g.GetMajor()), Minor: int(g.GetMinor()), Capabilities: slices.Clone(g.GetCapabilities()), BootID: g.GetBootId(),
		BinaryVersion: g.GetBinaryVersion(), OS: g.GetOs(), Arch: g.GetArch(), Shell: g.GetShell(), Sandbox: g.GetSandbox(),
		SandboxOpen: slices.Clone(g.GetSandboxOpen()), SandboxReason: g.GetSandboxReason()}
}
