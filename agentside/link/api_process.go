package link

import (
	"net/http"
	"time"

	"holdfast/engine/chat"
)

const (
	maxCommand  = 1 << 20
	maxHTTPWait = 5 * time.Minute
	// shortWait is the longest wait where the deadline of the answer cannot be moved, and writeSpare what the deadline has beyond a wait.
	shortWait  = 15 * time.Second
	writeSpare = 30 * time.Second
)

func chatOf(r *http.Request) chat.ID { return chat.ID(r.Header.Get(headerChat)) }

func (a *API) startProcess(w http.ResponseWriter, r *http.Request) {
	var in startShape
	if err := readJSON(w, r, maxCommand, &in); err != nil {
		refuse(w, err.status, err.problem)
		return
	}
	if !in.Sandbox.Known() {
		p := badRequest("There is no such sandbox profile.", string(in.Sandbox))
		refuse(w, p.status, p.problem)
		return
	}
	in.ChatID = chatOf(r)
	info, err := a.place.Processes().Start(r.Context(), in.start())
	if err != nil {
		refuseError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, processShape(info))
}

func (a *API) listProcesses(w http.ResponseWriter, r *http.Request) {
	if !readQuery(r).ok(w) {
		return
	}
	all, err := a.place.Processes().List(r.Context(), chatOf(r))
	if err != nil {
		refuseError(w, err)
		return
	}
	out := make([]processShape, 0, len(all))
	for _, info := range all {
		out = append(out, processShape(info))
	}
	writeJSON(w, http.StatusOK, out)
}

// processOutput waits as long as it is asked to, and at most five minutes; so it does when it is asked to wait without a time.
func (a *API) processOutput(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r, "wait", "wait_ms", "since")
	ms, since := q.number("wait_ms"), q.number("since")
	if !q.ok(w) {
		return
	}
	wait := time.Duration(min(ms, maxHTTPWait.Milliseconds())) * time.Millisecond
	if (q.flag("wait") || q.values.Has("wait_ms")) && wait == 0 {
		wait = maxHTTPWait
	}
	if wait > 0 && http.NewResponseController(w).SetWriteDeadline(a.now().Add(wait+writeSpare)) != nil {
		wait = min(wait, shortWait)
	}
	out, err := a.place.Processes().Output(r.Context(), chatOf(r), r.PathValue("id"), since, wait)
	if err != nil && out.ID == "" {
		refuseError(w, err)
		return
	}
	if err != nil {
		// What is remembered of it goes with the refusal.
		w.Header().Set(headerRefused, "true")
	}
	writeJSON(w, http.StatusOK, outputTo(out))
}

func (a *API) signalProcess(w http.ResponseWriter, r *http.Request) {
	var in signalShape
	if err := readJSON(w, r, 1<<10, &in); err != nil {
		refuse(w, err.status, err.problem)
		return
	}
	processes := a.place.Processes()
	var err error
	if fencer, can := processes.(chat.Fencer); in.Fence && can {
		err = fencer.Fence(r.Context(), chatOf(r), r.PathValue("id"), in.Signal)
	} else {
		err = processes.Signal(r.Context(), chatOf(r), r.PathValue("id"), in.Signal)
	}
	if err != nil {
		refuseError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, struct{}{})
}

// watchProcesses writes a line when a process prints or ends, until the caller goes.
func (a *API) watchProcesses(w http.ResponseWriter, r *http.Request) {
	q := readQuery(r, "id")
	if !q.ok(w) {
		return
	}
	touched, end := a.place.Processes().Watch(q.text("id"))
	defer end()
	a.tell(w, r, touched)
}

// watchPulse is how often a watch shows that it is alive.
const watchPulse = 30 * time.Second

// tell writes a line for each touch.
func (a *API) tell(w http.ResponseWriter, r *http.Request, touched <-chan struct{}) {
	control := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/plain")
	pulse := time.NewTicker(watchPulse)
	defer pulse.Stop()
	for line := "\n"; ; {
		if control.SetWriteDeadline(a.now().Add(writeSpare)) != nil {
			return
		}
		if _, err := w.Write([]byte(line)); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-touched:
			line = "t\n"
		case <-pulse.C:
			line = "\n"
		}
	}
}
