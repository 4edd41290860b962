package ui

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/notice"
	"holdfast/engine/workspace"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// listEvery is how often at most the sidebar follows changes of other Chats.
const listEvery = 250 * time.Millisecond

// chatReader is one page that follows a Chat: it remembers what the page shows and sends the difference.
type chatReader struct {
	s   *Site
	p   chat.Principal
	id  chat.ID
	out *frames
	// prev is the id of the last entry before the Draft's element, draft that of the Draft's own step.
	prev   string
	draft  int64
	cursor view.DraftCursor
	reached
	chrome chrome
	found  found
	// listed is how many Chats the page's sidebar holds.
	listed int
}

// reached is up to where the page has the Chat.
type reached struct {
	version, epoch int64
	last           chat.MessageID
}

// chrome is what a page shows beside the transcript that changes without a Version.
type chrome struct {
	phase  view.Phase
	family string
	space  view.SpaceNote
	server view.ServerNote
	// moved: some Workspace changed since space was made; found: so did what was found in the Chat's own.
	moved, found bool
}

// chatStream is the one stream of a chat page. The first frame brings the page from what it says it shows (at) to the present.
func (s *Site) chatStream(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.ID(r.PathValue("id"))
	watch, err := s.chats.Watch(ctx, p, engine.WatchInput{ChatID: id})
	if err != nil {
		endStream(w, r, err)
		return
	}
	defer watch.Stop()
	list, err := s.chats.WatchList(ctx, p, engine.WatchListInput{})
	if err != nil {
		endStream(w, r, err)
		return
	}
	defer list.Stop()
	spaces, err := s.workspaces.Watch(ctx, p, workspace.WatchInput{})
	if err != nil {
		endStream(w, r, err)
		return
	}
	defer spaces.Stop()
	v, err := s.chats.View(ctx, p, engine.ViewInput{ChatID: id, Limit: pageMessages, Gaps: true})
	if err != nil {
		endStream(w, r, err)
		return
	}
	reader := &chatReader{s: s, p: p, id: id, out: openFrames(w), listed: wanted(r)}
	at := r.Header.Get("Last-Event-ID")
	if at == "" {
		at = r.URL.Query().Get("at")
	}
	reader.shows(at)
	s.seen(ctx, p, id)
	defer s.seen(context.WithoutCancel(ctx), p, id)
	if err := reader.whole(ctx, v); err != nil {
		return
	}
	// What changed between the page's document and this stream woke nobody.
	if err := reader.list(ctx); err != nil {
		return
	}
	err = reader.follow(ctx, wakes{chat: watch.C, list: list.C, spaces: spaces.C})
	if err != nil && ctx.Err() == nil {
		s.log.DebugContext(ctx, "a chat stream ended", chat.LogError, err)
	}
}

// endStream answers a stream that cannot open. What is not there any more ends the page's asking.
func endStream(w http.ResponseWriter, r *http.Request, err error) {
	var refused *chat.Error
	if errors.As(err, &refused) && refused.Kind == chat.KindNotFound {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	gate.WriteError(w, r, err)
}

// seen moves the read mark, and reads what the person was told of the Chat. It is worth no failure of the stream.
func (s *Site) seen(ctx context.Context, p chat.Principal, id chat.ID) {
	// Someone who may only look changes nothing of their own either.
	if _, err := s.o.Notices.Read(ctx, p, notice.ReadInput{Chat: id}); err != nil && ctx.Err() == nil && !p.ReadOnly {
		s.log.DebugContext(ctx, "the notices of a chat were not read", chat.LogChat, id, chat.LogError, err)
	}
	if _, err := s.chats.Seen(ctx, p, engine.SeenInput{ChatID: id}); err != nil && ctx.Err() == nil {
		s.log.DebugContext(ctx, "the read mark was not moved", chat.LogChat, id, chat.LogError, err)
	}
}

// shows notes what the page says it ends with: the Draft's element and the entry before it, "s-7.m-31".
func (c *chatReader) shows(at string) {
	draft, prev, _ := strings.Cut(at, ".")
	n, err := strconv.ParseInt(strings.TrimPrefix(draft, "s-"), 10, 64)
	if err == nil && strings.HasPrefix(draft, "s-") {
		c.draft, c.prev = n, prev
	}
}

// wakes are what a page follows: its Chat or whatever else it shows, the list beside it, and all Workspaces. What is nil never comes.
type wakes struct{ chat, list, spaces, found <-chan struct{} }

// follow sends a frame for each wake until the reader leaves.
func (c *chatReader) follow(ctx context.Context, on wakes) error {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	<-pause.C
	changed, moved, waiting := false, false, false
	defer c.found.stop()
	for {
		var err error
		on.found = c.foundWakes(ctx)
		if c.chrome.found {
			if err := c.next(ctx); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ping.C:
			err = c.s.quiet(ctx, c.p, c.out, &c.chrome.server)
		case <-on.chat:
			err = c.next(ctx)
		case <-on.spaces:
			moved = true
		case <-on.found:
			moved, c.chrome.found = true, true
		case <-on.list:
			changed = true
		case <-pause.C:
			waiting = false
		}
		if err == nil && (changed || moved) && !waiting {
			pause.Reset(listEvery)
			if moved {
				c.chrome.moved = true
				err = c.next(ctx)
			}
			if err == nil && changed {
				err = c.list(ctx)
			}
			changed, moved, waiting = false, false, true
		}
		if err != nil {
			return err
		}
	}
}

func (c *chatReader) list(ctx context.Context) error {
	list, err := c.s.chatList(ctx, c.p, c.id, c.listed)
	if err != nil {
		return err
	}
	return c.out.send(ctx, append(c.s.serverLine(ctx, c.p, &c.chrome.server), patch{html: view.ChatsList(list)})...)
}

// serverLine gives the line about the model server when it says something else than shown, which it moves.
func (s *Site) serverLine(ctx context.Context, p chat.Principal, shown *view.ServerNote) []patch {
	note := s.serverNote(ctx, p)
	if note == *shown {
		return nil
	}
	*shown = note
	return []patch{{html: view.ServerLine(note)}}
}

// quiet keeps a stream open in which nothing was sent: with what is new of the model server, which wakes nobody, else with a ping.
func (s *Site) quiet(ctx context.Context, p chat.Principal, out *frames, shown *view.ServerNote) error {
	if news := s.serverLine(ctx, p, shown); len(news) > 0 {
		return out.send(ctx, news...)
	}
	return out.ping()
}

// next reads the Chat and sends what is new: the Draft's growth alone, or everything that a commit changed.
func (c *chatReader) next(ctx context.Context) error {
	v, err := c.s.chats.View(ctx, c.p, engine.ViewInput{ChatID: c.id, After: c.last, Following: true, Gaps: true})
	if err != nil {
		return err
	}
	if v.Chat.Version != c.version {
		if v, err = c.s.chats.View(ctx, c.p, engine.ViewInput{ChatID: c.id, Limit: pageMessages, Gaps: true}); err != nil {
			return err
		}
		if v.Chat.State.AtRest() {
			c.s.seen(ctx, c.p, c.id)
		}
		return c.whole(ctx, v)
	}
	var patches []patch
	for _, p := range c.cursor.Next(draftView(v)) {
		patches = append(patches, patch{selector: p.Selector, mode: p.Mode, html: p.HTML})
	}
	if mark := familyMark(v); mark != c.chrome.family {
		c.chrome.family = mark
		patches = append(patches, patch{html: view.AgentsPanel(agentsView(v))})
	}
	if c.chrome.moved || othersAt(v) != c.chrome.space.Others {
		c.chrome.moved = false
		if note := c.s.spaceNote(ctx, c.p, v); note != c.chrome.space {
			patches = append(patches, patch{html: view.SpaceNotice(note)})
			// What was read of the Workspace is read again: it went away, or is back.
			if note.State != c.chrome.space.State {
				patches = append(patches, patch{html: view.InspectorPanels(c.s.inspector(ctx, c.p, v, note.State))})
			}
			c.chrome.space, c.chrome.found = note, true
		}
	}
	if c.chrome.found {
		c.chrome.found = false
		patches = append(patches, c.contextPatch(ctx, v))
	}
	if phase := phaseView(v, c.chrome.space); phase != c.chrome.phase {
		c.chrome.phase = phase
		patches = append(patches, patch{html: view.PhaseLine(phase)})
		patches = append(patches, c.s.serverLine(ctx, c.p, &c.chrome.server)...)
	}
	if len(patches) == 0 {
		return nil
	}
	return c.out.send(ctx, patches...)
}

// whole sends what follows the last entry that the page has, in one event at the Draft's place, and all that surrounds the transcript.
func (c *chatReader) whole(ctx context.Context, v engine.View) error {
	entries := c.s.transcript(v, time.Now()).entries(v.Messages, true)
	draft := draftView(v)
	from := after(entries, c.prev)
	patches := []patch{}
	// What a page still shows of a Chat that was damaged since may be what cannot be read any more.
	if from < 0 || c.draft == 0 || c.epoch != 0 && c.epoch != v.Chat.HistoryEpoch || c.version == 0 && v.Damaged != nil {
		all := append(entries, draftEntry(entries, draft))
		patches = append(patches, patch{selector: "#log", mode: "inner", html: view.Entries(all)})
	} else {
		if from > 0 {
			patches = append(patches, patch{html: view.EntryItem(entries[from-1])})
		}
		news := append(entries[from:len(entries):len(entries)], draftEntry(entries, draft))
		patches = append(patches, patch{selector: "#s-" + strconv.FormatInt(c.draft, 10), mode: "outer", html: view.Entries(news)})
	}
	c.prev = ""
	if n := len(entries); n > 0 {
		c.prev = entryID(entries[n-1])
	}
	c.out.id = "s-" + strconv.FormatInt(draft.Step, 10) + "." + c.prev
	c.draft, c.version, c.epoch, c.last = draft.Step, v.Chat.Version, v.Chat.HistoryEpoch, v.Chat.Chain.LastID
	c.cursor.Shown(draft)
	shown := c.s.chatView(ctx, c.p, v)
	c.chrome = chrome{phase: phaseView(v, shown.Space), family: familyMark(v), space: shown.Space, server: c.chrome.server}
	patches = append(patches, patch{html: view.ChatChrome(shown, c.s.inspector(ctx, c.p, v, shown.Space.State))})
	return c.out.send(ctx, patches...)
}

// after gives the place behind the entry with this element id; 0 when the page has no entry yet, -1 when it is not there.
func after(entries []view.Entry, id string) int {
	if id == "" {
		return 0
	}
	for i := len(entries) - 1; i >= 0; i-- {
		if entryID(entries[i]) == id {
			return i + 1
		}
	}
	return -1
}

func entryID(e view.Entry) string {
	switch {
	case e.Ask != nil:
		return "m-" + strconv.FormatInt(e.Ask.ID, 10)
	case e.Step != nil:
		return "s-" + strconv.FormatInt(e.Step.N, 10)
	}
	if e.Mark.Gap {
		return "g-" + strconv.FormatInt(e.Mark.ID, 10)
	}
	return "x-" + strconv.FormatInt(e.Mark.ID, 10)
}

// listStream follows the sidebar of pages that show no Chat.
func (s *Site) listStream(w http.ResponseWriter, r *http.Request) { s.followList(w, r, nil) }

// followList sends the sidebar, and what besides gives unless it is nil, after each change of a person's Chats.
func (s *Site) followList(w http.ResponseWriter, r *http.Request, besides func(context.Context, chat.Principal) patch) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	list, err := s.chats.WatchList(ctx, p, engine.WatchListInput{})
	if err != nil {
		endStream(w, r, err)
		return
	}
	defer list.Stop()
	out := openFrames(w)
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	var server view.ServerNote
	for {
		chats, err := s.chatList(ctx, p, "", wanted(r))
		if err != nil {
			return
		}
		patches := append(s.serverLine(ctx, p, &server), patch{html: view.ChatsList(chats)})
		if besides != nil {
			patches = append(patches, besides(ctx, p))
		}
		if err := out.send(ctx, patches...); err != nil {
			return
		}
		for quiet := true; quiet; {
			select {
			case <-ctx.Done():
				return
			case <-list.C:
				quiet = false
			case <-ping.C:
				if err := s.quiet(ctx, p, out, &server); err != nil {
					return
				}
			}
		}
	}
}
