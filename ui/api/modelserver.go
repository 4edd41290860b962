package api

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"

	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

func (a *API) modelServerEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodGet, path: "/model-server", summary: "Say how the model server is.",
			handler: answer(a, http.StatusOK, a.modelServer), out: map[int]any{http.StatusOK: client.ModelServer{}}},
		{method: http.MethodGet, path: "/model-server/models", summary: "List what the model server has.",
			handler: answer(a, http.StatusOK, a.installed), out: map[int]any{http.StatusOK: client.InstalledPage{}}},
		{method: http.MethodPost, path: "/model-server/pull", summary: "Let the model server fetch a model (admin); a stream of progress.",
			in: client.Pull{}, handler: http.HandlerFunc(a.pull), streams: client.Transfer{}},
		{method: http.MethodPost, path: "/model-server/import",
			summary: "Make a model of a GGUF, sent as the body with its Content-Length (admin); a stream of progress, which may begin before " +
				"the body is whole. The model's name stands in the query or in the header X-Model-Name.",
			query:   []parameter{{name: "name", describes: "The model's name; the header X-Model-Name instead of it."}},
			rawBody: "application/octet-stream", maxBody: gate.UnboundedBody, handler: http.HandlerFunc(a.importModel), streams: client.Transfer{}},
		{method: http.MethodDelete, path: "/model-server/models/{name...}", summary: "Delete a model from the model server (admin).",
			handler: answer(a, http.StatusNoContent, a.deleteInstalled), out: map[int]any{http.StatusNoContent: nil}},
	}
}

func (a *API) modelServer(q *request, _ none) (client.ModelServer, error) {
	s, err := a.o.Models.Status(q.ctx(), q.who, model.StatusInput{})
	out := client.ModelServer{Reachable: s.Reachable, Version: s.Version, URL: s.URL, Problem: s.Problem, Queue: s.Queue,
		MemoryBytes: orNull(s.MemoryBytes), Loaded: make([]client.LoadedModel, 0, len(s.Loaded))}
	for _, m := range s.Loaded {
		out.Loaded = append(out.Loaded, client.LoadedModel{Name: m.Name, Size: m.Size, SizeVRAM: m.SizeVRAM, Context: m.Context,
			ExpiresAt: client.At(m.ExpiresAt)})
	}
	return out, err
}

func (a *API) installed(q *request, _ none) (client.InstalledPage, error) {
	all, err := a.o.Models.Installed(q.ctx(), q.who, model.InstalledInput{})
	out := client.InstalledPage{Models: make([]chat.InstalledModel, 0, len(all))}
	for _, m := range all {
		m.Capabilities = append([]string{}, m.Capabilities...)
		out.Models = append(out.Models, m)
	}
	return out, err
}

func (a *API) deleteInstalled(q *request, _ none) (none, error) {
	_, err := a.o.Models.DeleteInstalled(q.ctx(), q.who, model.DeleteInstalledInput{Name: q.http.PathValue("name")})
	return none{}, err
}

func (a *API) pull(w http.ResponseWriter, r *http.Request) {
	q, in, err := readRequest[client.Pull](r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	a.transfer(w, r, func(ctx context.Context, progress func(chat.Progress)) (chat.ModelConfig, error) {
		return a.o.Models.Pull(ctx, q.who, model.PullInput{Name: in.Name, Progress: progress})
	})
}

func (a *API) importModel(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	if name == "" {
		name = r.Header.Get("X-Model-Name")
	}
	// The answer begins while the body still comes. A connection that cannot do both would drop the rest of the body.
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		gate.WriteError(w, r, err)
		return
	}
	// What is refused leaves a body that nobody has read; the connection must not be taken for the next request.
	w.Header().Set("Connection", "close")
	a.transfer(w, r, func(ctx context.Context, progress func(chat.Progress)) (chat.ModelConfig, error) {
		return a.o.Models.Import(ctx, gate.Principal(ctx), model.ImportInput{Name: name, Body: r.Body, Size: r.ContentLength, Progress: progress})
	})
}

// transfer runs a long command and streams its progress. What fails before the first progress is answered with its status.
func (a *API) transfer(w http.ResponseWriter, r *http.Request, run func(context.Context, func(chat.Progress)) (chat.ModelConfig, error)) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	// One place: the newest progress replaces one that was not sent yet.
	progress := make(chan chat.Progress, 1)
	type outcome struct {
		model chat.ModelConfig
		err   error
	}
	ended := make(chan outcome, 1)
	go func() {
		// Outside of the Gate's goroutine its panic guard does not reach.
		defer func() {
			if reason := recover(); reason != nil {
				ended <- outcome{err: fmt.Errorf("panic: %v\n%s", reason, debug.Stack())}
			}
		}()
		m, err := run(ctx, func(p chat.Progress) {
			select {
			case <-progress:
			default:
			}
			progress <- p
		})
		ended <- outcome{m, err}
	}()
	s := newSender(w, a.o.Keepalive)
	defer s.close()
	tell := func(p chat.Progress) error {
		return s.event("", client.Transfer{Status: p.Status, Completed: p.Completed, Total: p.Total, BytesPerSecond: p.BytesPerSecond,
			ETASeconds: p.ETASeconds})
	}
	for {
		var err error
		select {
		case p := <-progress:
			err = tell(p)
		case <-s.quiet():
			err = s.ping()
		case o := <-ended:
			// What it said before its end is told first.
			select {
			case p := <-progress:
				err = tell(p)
			default:
			}
			if err == nil {
				a.endTransfer(w, r, s, o.model, o.err)
			}
			return
		}
		if err != nil {
			cancel(err)
			<-ended
			return
		}
	}
}

func (a *API) endTransfer(w http.ResponseWriter, r *http.Request, s *sender, m chat.ModelConfig, err error) {
	if err != nil && !s.began {
		gate.WriteError(w, r, err)
		return
	}
	last := client.Transfer{Status: client.TransferDone}
	if err != nil {
		last = client.Transfer{Status: client.TransferFailed, Error: a.streamError(r.Context(), err)}
	} else if m.ID != "" {
		shown := shownModel(&m)
		last.Model = &shown
	}
	if err := s.event("", last); err != nil {
		a.o.Log.DebugContext(r.Context(), "a reader left before the end of a transfer", chat.LogError, err)
	}
}
