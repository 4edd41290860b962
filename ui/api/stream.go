package api

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

// stream follows one Chat: a first frame with all behind after_id, then a frame with the difference after each wake.
func (a *API) stream(w http.ResponseWriter, r *http.Request) {
	id, who, ctx := chat.ID(r.PathValue("id")), gate.Principal(r.Context()), r.Context()
	after, err := startOf(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	// Subscribed before the first read, so that nothing falls between them.
	watch, err := a.o.Chats.Watch(ctx, who, engine.WatchInput{ChatID: id})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	defer watch.Stop()
	c := cursor{last: after}
	if after != 0 {
		_, err := a.o.Chats.Message(ctx, who, engine.MessageInput{ChatID: id, Message: after})
		if e := asError(err); e != nil && e.Kind == chat.KindNotFound {
			c.last, c.lost = 0, true
		} else if err != nil {
			gate.WriteError(w, r, err)
			return
		}
	}
	view, err := a.view(ctx, who, id, &c)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s := newSender(w, a.o.Keepalive)
	defer s.close()
	if err := s.event(position(c.last, view), c.frame(view)); err != nil {
		a.left(ctx, err)
		return
	}
	a.seen(ctx, who, id)
	// It is noted that the reader saw all until it left, also when leaving ended the context.
	defer func() { a.seen(context.WithoutCancel(ctx), who, id) }()
	a.follow(ctx, s, &c, watch.C, who, id)
}

// follow sends the difference after each wake until the reader, its credential or the process ends.
func (a *API) follow(ctx context.Context, s *sender, c *cursor, wake <-chan struct{}, who chat.Principal, id chat.ID) {
	for {
		select {
		case <-ctx.Done():
			if err := s.comment("closing"); err != nil {
				a.left(ctx, err)
			}
			return
		case <-s.quiet():
			if err := s.ping(); err != nil {
				a.left(ctx, err)
				return
			}
			continue
		case <-wake:
			letOthersWrite()
		}
		view, err := a.view(ctx, who, id, c)
		if err != nil {
			if ctx.Err() != nil {
				continue
			}
			end := client.Frame{ChatID: id, Events: []client.Event{&client.ErrorEvent{Type: client.TypeError, Error: *a.streamError(ctx, err)}}}
			if err := s.event("", end); err != nil {
				a.left(ctx, err)
			}
			return
		}
		last := position(c.last, view)
		if f := c.frame(view); len(f.Events) > 0 {
			if err := s.event(last, f); err != nil {
				a.left(ctx, err)
				return
			}
		}
	}
}

// letOthersWrite lets what is runnable go first. Where hundreds of Turns run, what they write in that time needs no frame of its own: a third
// of all frames are saved. A lone reader waits for nothing.
func letOthersWrite() {
	for range 3 {
		runtime.Gosched()
	}
}

// view reads what is behind the cursor. After an edit the cursor's Message may be gone: then all is read.
func (a *API) view(ctx context.Context, who chat.Principal, id chat.ID, c *cursor) (engine.View, error) {
	for {
		v, err := a.o.Chats.View(ctx, who, engine.ViewInput{ChatID: id, After: c.last, Ascending: true, Following: c.started})
		if err != nil || !c.started || v.Chat.HistoryEpoch == c.epoch || c.last == 0 {
			return v, err
		}
		c.last = 0
	}
}

// position is the id of the frame that brings this view.
func position(last chat.MessageID, v engine.View) string {
	if n := len(v.Messages); n > 0 {
		last = v.Messages[n-1].ID
	}
	return strconv.FormatInt(int64(last), 10)
}

// startOf reads where a reader stands. The header is newer than the address, which a browser repeats when it comes back.
func startOf(r *http.Request) (chat.MessageID, error) {
	field, text := "after_id", r.URL.Query().Get("after_id")
	if h := r.Header.Get("Last-Event-ID"); h != "" {
		field, text = "Last-Event-ID", h
	} else if !r.URL.Query().Has("after_id") {
		return 0, nil
	}
	id, err := parsePosition(text)
	if err != nil {
		return 0, chat.Invalid(field, err.Error())
	}
	return id, nil
}

// seenTime bounds the note of what a reader saw.
const seenTime = 5 * time.Second

func (a *API) seen(ctx context.Context, who chat.Principal, id chat.ID) {
	ctx, cancel := context.WithTimeout(ctx, seenTime)
	defer cancel()
	if _, err := a.o.Chats.Seen(ctx, who, engine.SeenInput{ChatID: id}); err != nil {
		a.o.Log.DebugContext(ctx, "the read mark was not moved", slog.Any(chat.LogError, err))
	}
}

func (a *API) left(ctx context.Context, err error) {
	a.o.Log.DebugContext(ctx, "a reader of a stream left", slog.Any(chat.LogError, err))
}

// streamError is what a reader is told about a failure in mid-stream; what was not made for people goes to the log.
func (a *API) streamError(ctx context.Context, err error) *client.Error {
	if e := asError(err); e != nil && e.Kind != chat.KindInternal {
		return shownError(e)
	}
	a.o.Log.ErrorContext(ctx, "a stream ended", slog.Any(chat.LogError, err))
	return &client.Error{Kind: chat.KindInternal, Message: "Something went wrong inside Holdfast. Its log has the details under this request's id.",
		Detail: gate.RequestID(ctx), Retryable: true}
}
