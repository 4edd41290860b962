package link

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"holdfast/engine/chat"
)

// makeShape says what a Workspace is made of.
type makeShape struct {
	Name      string            `json:"name"`
	Kind      chat.TemplateKind `json:"kind"`
	Source    string            `json:"source"`
	Parent    string            `json:"parent,omitempty"`
	Branch    string            `json:"branch,omitempty"`
	Variables map[string]string `json:"variables,omitempty"`
	Sandbox   chat.Profile      `json:"sandbox"`
}

// makingShape is how far the making of a Workspace is. Said goes on from the offset that was asked for.
type makingShape struct {
	Said      string   `json:"said,omitempty"`
	Next      int64    `json:"next"`
	Done      bool     `json:"done"`
	Directory string   `json:"directory,omitempty"`
	Branch    string   `json:"branch,omitempty"`
	Problem   *problem `json:"problem,omitempty"`
}

// makePiece is the longest wait for what the making of a Workspace says.
const makePiece = time.Minute

// placesOf leads to what an Agent does with Workspaces as such.
func (a *Appliance) placesOf(id chat.AgentID) (*line, error) {
	if id == "" {
		return nil, &chat.Error{Kind: chat.KindWrongState, Message: "The agent of this workspace was revoked.", Detail: "Choose another target in its template, and make a new one."}
	}
	l := a.line(id)
	if l == nil {
		return nil, &chat.Error{Kind: chat.KindStopping, Message: "The appliance is stopping."}
	}
	return l, nil
}

// Make has the Agent of a record make its directory. It goes on over new links; an Agent that restarted meanwhile has given up.
func (a *Appliance) Make(ctx context.Context, rec chat.WorkspaceRecord, log func(string)) (chat.Made, error) {
	l, err := a.placesOf(rec.AgentID)
	if err != nil {
		return chat.Made{}, err
	}
	m := rec.Made
	body, err := encode(makeShape{Name: rec.Name, Kind: m.Kind, Source: m.Source, Parent: m.Parent, Branch: m.Branch, Variables: m.Variables, Sandbox: rec.Profile()})
	if err != nil {
		return chat.Made{}, err
	}
	path := "/places/" + string(rec.ID)
	if _, err := l.manage(ctx, call{method: http.MethodPost, path: path + "/make", body: body}); err != nil {
		return chat.Made{}, err
	}
	for since := int64(0); ; {
		q := url.Values{"since": {strconv.FormatInt(since, 10)}, "wait_ms": {strconv.FormatInt(min(makePiece, l.times.Piece).Milliseconds(), 10)}}
		got, err := l.manage(ctx, call{method: http.MethodGet, path: path + "/making", query: q})
		if err != nil {
			return chat.Made{}, err
		}
		var now makingShape
		if err := got.into(&now); err != nil {
			return chat.Made{}, err
		}
		since = now.Next
		log(now.Said)
		switch {
		case now.Problem != nil:
			return chat.Made{}, now.Problem.asError()
		case now.Done:
			return chat.Made{Directory: now.Directory, Branch: now.Branch}, nil
		}
	}
}

// Remove has the Agent forget a Workspace and remove its worktree, as chat.Maker has it. An Agent that is away is not waited for.
func (a *Appliance) Remove(ctx context.Context, rec chat.WorkspaceRecord, discard bool) error {
	l, err := a.placesOf(rec.AgentID)
	if rec.AgentID == "" || spaceOf(rec) == "" {
		return nil
	}
	if err != nil {
		return err
	}
	if !l.shown().Online {
		if rec.Made.Kind != chat.TemplateWorktree {
			return nil
		}
		return &chat.Error{Kind: chat.KindWrongState, Message: "The agent of this worktree is away.", Detail: "Keep its files, or wait until the agent is back.",
			Validations: []chat.Validation{{Field: "files", Detail: "keep or discard"}}}
	}
	_, err = l.manage(ctx, call{method: http.MethodDelete, path: "/places/" + string(rec.ID), query: url.Values{"discard": {strconv.FormatBool(discard)}}})
	var refused *chat.Error
	if errors.As(err, &refused) && refused.Kind == chat.KindWrongState {
		refused.Validations = []chat.Validation{{Field: "files", Detail: "keep or discard"}}
	}
	return err
}

// stopMade ends all that runs in a Workspace that was made beside an Agent.
func (a *Appliance) stopMade(ctx context.Context, rec chat.WorkspaceRecord) error {
	l, err := a.placesOf(rec.AgentID)
	if err != nil {
		return err
	}
	_, err = l.manage(ctx, call{method: http.MethodPost, path: "/places/" + string(rec.ID) + "/stop", body: []byte("{}")})
	return err
}

// manage sends a call about Workspaces as such; a refusal is an error.
func (l *line) manage(ctx context.Context, c call) (*reply, error) {
	got, err := l.ask(ctx, CapPlaces, c)
	if err != nil {
		var known *chat.Error
		if errors.As(err, &known) {
			return nil, err
		}
		return nil, serverFault(err)
	}
	if refused := got.problem(); refused != nil {
		return nil, refused.asError()
	}
	return got, nil
}

// hasMade says whether a Workspace was made beside an Agent: no Agent speaks for another's.
func (a *Appliance) hasMade(ctx context.Context, agent chat.AgentID, id chat.WorkspaceID) bool {
	all, err := a.made(ctx, agent)
	if err != nil {
		a.o.Log.Warn("the workspaces of an agent could not be looked up", chat.LogAgent, agent, chat.LogError, err)
	}
	for _, w := range all {
		if w == id {
			return true
		}
	}
	return false
}

func (a *Appliance) made(ctx context.Context, agent chat.AgentID) ([]chat.WorkspaceID, error) {
	if a.o.Made == nil {
		return nil, nil
	}
	return a.o.Made(ctx, agent)
}
