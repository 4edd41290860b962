package link

import (
	"context"
	"errors"

	"holdfast/engine/chat"
)

// place is a Workspace beside an Agent.
type place struct {
	line      way
	profile   chat.Profile
	files     *remoteFiles
	processes *remoteProcesses
	git       *remoteGit
}

var _ chat.Workspace = (*place)(nil)

func (p *place) Files() chat.Files         { return p.files }
func (p *place) Processes() chat.Processes { return p.processes }
func (p *place) Git() chat.Git             { return p.git }

// Open gives the Workspace of a record of kind agent. It is the same whether the Agent is there or not; what is asked of it waits for
// the Agent, but not for longer than it may be absent.
func (a *Appliance) Open(_ context.Context, rec chat.WorkspaceRecord) (chat.Workspace, error) {
	if rec.Kind != chat.WorkspaceAgent {
		return nil, chat.Invalid("kind", "only workspaces beside an agent are reached through a link")
	}
	if rec.AgentID == "" {
		return nil, &chat.Error{Kind: chat.KindWrongState, Message: "No agent has enrolled for this workspace yet.",
			Detail: "Start one beside its files with the command on the Agents page."}
	}
	l := way{line: a.line(rec.AgentID), space: spaceOf(rec)}
	if l.line == nil {
		return nil, &chat.Error{Kind: chat.KindStopping, Message: "The appliance is stopping."}
	}
	return &place{line: l, profile: rec.Profile(), files: &remoteFiles{line: l}, git: &remoteGit{line: l},
		processes: &remoteProcesses{appliance: a, line: l, piece: a.o.Times.Piece, boots: &l.boots, profile: rec.Profile()}}, nil
}

// spaceOf names the Workspace for its Agent: "" for the one that the Agent was enrolled with.
func spaceOf(rec chat.WorkspaceRecord) chat.WorkspaceID {
	if !rec.MadeBeside() {
		return ""
	}
	return rec.ID
}

// sendFences ends what was to be ended while the Agent was away. What cannot be sent now is sent over the next link.
func (a *Appliance) sendFences(ctx context.Context, l *line, c *connection) {
	if !c.terms.Has(CapProcesses) {
		return
	}
	for _, f := range l.takeFences() {
		body, err := encode(signalShape{Signal: f.signal, Fence: true})
		if err == nil {
			_, err = c.send(ctx, call{method: "POST", path: "/processes/" + f.id + "/signal", chat: f.chat, space: f.space, body: body})
		}
		if err != nil {
			a.o.Log.Warn("a process could not be ended yet", chat.LogAgent, l.id, chat.LogProcess, f.id, chat.LogError, err)
			l.later(f)
		}
	}
}

// refusedBy gives the sentence of an error of ask that is neither the Agent's refusal nor the end of ctx, and its kind.
func refusedBy(err error) (kind, message string, ok bool) {
	var gone *away
	var known *chat.Error
	switch {
	case errors.As(err, &gone):
		return "unreachable", gone.Error(), true
	case errors.As(err, &known) && known.Kind == chat.KindStopping:
		return "closed", known.Message, true
	case errors.As(err, &known):
		return "unreachable", joinSentences(known.Message, known.Detail), true
	}
	return "", "", false
}

func joinSentences(a, b string) string {
	if b == "" {
		return a
	}
	return a + " " + b
}
