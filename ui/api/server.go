package api

import (
	"holdfast/engine/chat"
	"holdfast/engine/snapshot"
	"holdfast/ui/api/client"
)

func (a *API) workspaceServers(q *request, _ none) ([]client.WorkspaceServer, error) {
	all, err := a.o.Contexts.Servers(q.ctx(), q.who, snapshot.ServersInput{ID: workspaceID(q)})
	out := make([]client.WorkspaceServer, 0, len(all))
	for _, s := range all {
		out = append(out, shownServer(s))
	}
	return out, err
}

func (a *API) approveServer(q *request, in client.ServerApproval) (none, error) {
	var hash chat.Hash
	if err := hash.UnmarshalText([]byte(in.Seal)); err != nil {
		return none{}, chat.Invalid("seal", "It must be the seal of the server or tool as it was listed.")
	}
	_, err := a.o.Contexts.ApproveServer(q.ctx(), q.who, snapshot.ApproveServerInput{ID: workspaceID(q), Name: in.Name, Tool: in.Tool, Hash: hash})
	return none{}, err
}

func (a *API) refuseServer(q *request, in client.ServerRefusal) (none, error) {
	var hash chat.Hash
	if err := hash.UnmarshalText([]byte(in.Seal)); err != nil {
		return none{}, chat.Invalid("seal", "It must be the seal of the server as it was listed.")
	}
	_, err := a.o.Contexts.RefuseServer(q.ctx(), q.who, snapshot.RefuseServerInput{ID: workspaceID(q), Name: in.Name, Hash: hash})
	return none{}, err
}

func shownServer(s chat.Server) client.WorkspaceServer {
	out := client.WorkspaceServer{Name: s.Name, Config: s.Config, Status: s.Status, Error: s.Error, Approved: s.Approved, Refused: s.Refused, Entry: shownEntry(s.Entry), Sandbox: s.Sandbox}
	if s.Hash != (chat.Hash{}) {
		out.Seal = s.Hash.String()
	}
	if s.Before != nil {
		before := shownEntry(*s.Before)
		out.Before = &before
	}
	for _, t := range s.Tools {
		out.Tools = append(out.Tools, client.SnapshotTool{Name: t.Name, Description: t.Description})
	}
	for _, c := range s.Changed {
		out.Changed = append(out.Changed, client.ChangedTool{Name: c.Name, Seal: c.Hash.String(), Before: c.Before.Description, Now: c.Now.Description,
			SchemaBefore: string(c.Before.InputSchema), SchemaNow: string(c.Now.InputSchema)})
	}
	return out
}

func shownEntry(e chat.ServerEntry) client.ServerEntry {
	out := client.ServerEntry{Transport: e.Transport, Command: e.Command, Args: e.Args, Dir: e.Dir, URL: e.URL, Env: e.Env, Headers: e.Headers, Variables: e.Variables}
	for _, f := range e.Files {
		out.Files = append(out.Files, client.ServerFile{Path: f.Path, SHA256: f.Hash.String()})
	}
	return out
}
