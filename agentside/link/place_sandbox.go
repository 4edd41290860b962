package link

import (
	"slices"

	"holdfast/engine/chat"
)

var (
	_ chat.Sandboxed     = (*place)(nil)
	_ chat.Distant       = (*place)(nil)
	_ chat.ContextKeeper = (*place)(nil)
)

// Agent tells how the Agent of the Workspace is now.
func (p *place) Agent() chat.AgentState { return p.line.shown() }

// Sandbox tells what would confine a command beside the Agent, as it measured when it came last.
func (p *place) Sandbox(profile chat.Profile) chat.Sandbox {
	if profile == chat.ProfileDefault {
		profile = p.profile
	}
	hello, terms := p.line.met()
	return boxOf(level(hello, terms), hello.SandboxOpen, profile)
}

// SandboxOf tells what confines the commands of a Workspace, and why that is not full, by what its Agent said last.
func SandboxOf(rec chat.WorkspaceRecord, g chat.AgentGreeting) (chat.Sandbox, string) {
	if g.Sandbox == "" && g.Version == "" {
		return boxOf(chat.SandboxNone, nil, rec.Profile()), "no agent serves it, so nothing is known of its machine"
	}
	return boxOf(g.Sandbox, g.SandboxOpen, rec.Profile()), g.SandboxReason
}

// level is what an Agent measured; one that cannot be asked for a profile confines nothing.
func level(h Hello, t Terms) chat.SandboxLevel {
	l := chat.SandboxLevel(h.Sandbox)
	if !t.Has(CapSandbox) || l != chat.SandboxFull && l != chat.SandboxPartial {
		return chat.SandboxNone
	}
	return l
}

func boxOf(l chat.SandboxLevel, open []string, p chat.Profile) chat.Sandbox {
	if p == chat.ProfileOff {
		return chat.NoSandbox()
	}
	if l != chat.SandboxFull && l != chat.SandboxPartial {
		none := chat.NoSandbox()
		none.Profile = p
		return none
	}
	open = append([]string{}, slices.Clone(open)...)
	if p == chat.ProfileNetwork {
		open = append(open, "network")
	}
	return chat.Sandbox{Level: l, Profile: p, Open: open}
}

// confine gives the body of a start as an Agent with these terms takes it. The level is what the caller was told: an Agent that came back
// with another one must not run what nobody was asked about.
func confine(req chat.ProcessStart, profile chat.Profile, told chat.SandboxLevel, h Hello, t Terms) ([]byte, error) {
	now := level(h, t)
	if now != told {
		return nil, &chat.ProcessError{Kind: "spawn", Message: "The agent came back with another sandbox (" + string(now) + ", it was " + string(told) +
			"); the command was not run."}
	}
	if t.Has(CapSandbox) {
		if req.Profile == chat.ProfileDefault {
			req.Profile = profile
		}
		if req.Level != "" && req.Level != now {
			return nil, &chat.ProcessError{Kind: "spawn", Message: "The agent confines commands at the level " + string(now) + ", and this one runs at " + string(req.Level) + " or not at all."}
		}
		req.Level = now
	}
	return encode(shapeOf(req))
}
