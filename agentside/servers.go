package agentside

import (
	"path/filepath"

	"holdfast/agentside/proc"
	"holdfast/agentside/server"
	"holdfast/agentside/wctx"
	"holdfast/engine/chat"
)

// Serve makes the Provider of the MCP servers of a Workspace, with the profile that it has when a program starts; nil where this program
// speaks to none. changed is told when what it shows differs, and must not wait. Close it before the Workspace stops.
func (w *Workspaces) Serve(id chat.WorkspaceID, dir string, changed func()) *server.Provider {
	if w.dial == nil {
		return nil
	}
	return server.New(server.Options{Dir: dir, Keep: filepath.Join(w.own.state, "servers", filepath.Base(string(id))+".json"), Key: w.contexts.options.Key,
		Environ: proc.Inherited(w.environ), Dial: w.dial, Changed: changed, Log: w.contexts.log.With(chat.LogWorkspace, id), Now: w.now,
		Start: func(l server.Launch) (*server.Process, error) {
			now := w.opened(id)
			if now == nil {
				return nil, &chat.ProcessError{Kind: "closed", Message: "The workspace has stopped."}
			}
			p, err := now.processes.Pipe(proc.Piping{ID: l.ID, Argv: l.Argv, Env: l.Env, Dir: l.Dir})
			if err != nil {
				return nil, err
			}
			return &server.Process{Stdin: p.Stdin, Stdout: p.Stdout, Done: p.Done, Terminate: p.Terminate, Kill: p.Kill, Said: p.Said}, nil
		},
		Sandbox: func() chat.Sandbox {
			if now := w.opened(id); now != nil {
				return now.Sandbox(chat.ProfileDefault)
			}
			return chat.NoSandbox()
		}})
}

func (w *Workspaces) opened(id chat.WorkspaceID) *workspace {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open[id]
}

// Watched is how a context takes the servers of a Provider; nil is none.
func Watched(p *server.Provider) wctx.Servers {
	if p == nil {
		return wctx.Servers{}
	}
	return wctx.Servers{List: p.Resources, Load: func(configs []wctx.Config) {
		all := make([]server.Config, len(configs))
		for i, c := range configs {
			all[i] = server.Config(c)
		}
		p.Load(all)
	}}
}

var _ chat.ServerKeeper = (*workspace)(nil)

// Servers are those of the Workspace's context.
func (w *workspace) Servers() chat.Servers { return w.servers() }
