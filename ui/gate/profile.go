package gate

import (
	"bytes"
	"net/http"
	"runtime/pprof"
	"strconv"
	"time"

	"holdfast/engine/chat"
)

// longestProfile bounds how long one request may watch the processor.
const longestProfile = 60 * time.Second

// profile answers what the process spends its time and memory on, in pprof's format: /debug/pprof/profile?seconds=10 watches the
// processor, heap, goroutine, allocs and the runtime's other profiles are as of now. Only the Unix socket knows it.
func (g *Gate) profile(w http.ResponseWriter, r *http.Request) {
	if !onSocket(r) {
		WriteError(w, r, chat.NotFound("page"))
		return
	}
	body, err := takeProfile(r)
	if err != nil {
		WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	send(w, r, body)
}

func takeProfile(r *http.Request) ([]byte, error) {
	var out bytes.Buffer
	name := r.PathValue("name")
	if name == "profile" {
		seconds, err := strconv.Atoi(r.URL.Query().Get("seconds"))
		length := time.Duration(seconds) * time.Second
		if err != nil || length <= 0 || length > longestProfile {
			return nil, chat.Invalid("seconds", "It must be a whole number from 1 to 60.")
		}
		return watchCPU(r, length, &out)
	}
	p := pprof.Lookup(name)
	if p == nil {
		return nil, chat.NotFound("profile")
	}
	if err := p.WriteTo(&out, 0); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// watchCPU gives what was seen until the time is over or the asker leaves.
func watchCPU(r *http.Request, length time.Duration, out *bytes.Buffer) ([]byte, error) {
	if err := pprof.StartCPUProfile(out); err != nil {
		return nil, &chat.Error{Kind: chat.KindWrongState, Message: "The processor is being watched already.", Detail: err.Error(), Retryable: true}
	}
	t := time.NewTimer(length)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	}
	pprof.StopCPUProfile()
	return out.Bytes(), nil
}
