package ui

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/notice"
	"holdfast/ui/gate"
)

// noticeEvent is a Notice as a page's script gets it.
type noticeEvent struct {
	Kind  string `json:"kind"`
	Title string `json:"title"`
	Body  string `json:"body"`
	URL   string `json:"url"`
}

// notices is the stream that one worker of each browser holds for all its tabs: what finished, failed or waits for the person from now on.
func (s *Site) notices(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	watch, err := s.o.Notices.Follow(ctx, p, notice.FollowInput{})
	if err != nil {
		endStream(w, r, err)
		return
	}
	defer watch.Stop()
	last := watch.Newest
	if at, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		last = at
	}
	out := openFrames(w)
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for err = out.ping(); err == nil; {
		news, problem := s.o.Notices.Since(ctx, p, notice.SinceInput{After: last})
		if problem != nil {
			return
		}
		for _, n := range news {
			last = n.Seq
			if err = out.event(strconv.FormatInt(n.Seq, 10), noticeEvent{Kind: string(n.Notice.Kind), Title: n.Notice.Title, Body: n.Notice.Body,
				URL: n.Notice.URL()}); err != nil {
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-watch.C:
		case <-ping.C:
			err = out.ping()
		}
	}
	if ctx.Err() == nil {
		s.log.DebugContext(ctx, "a stream of notices ended", chat.LogError, err)
	}
}

// event writes one message for a script, as JSON.
func (f *frames) event(id string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f.buf.Reset()
	f.buf.WriteString("id: " + id + "\ndata: ")
	f.buf.Write(body)
	f.buf.WriteString("\n\n")
	return f.flush()
}
