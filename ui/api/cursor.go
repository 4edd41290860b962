package api

import (
	"strings"
	"unicode/utf8"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// cursor is what one reader of a stream holds.
type cursor struct {
	// last is the newest Message; lost says that the reader's own one is not known here.
	last  chat.MessageID
	lost  bool
	epoch int64
	// started: the first frame is made.
	started bool
	status  client.StatusEvent
	queue   int64
	failed  client.Error
	open    string
	retry   chat.Retry
	draft   draftCursor
}

// draftCursor is what the reader holds of the Draft: how much of each part of which generation.
type draftCursor struct {
	generation int64
	seq        int64
	parts      []partCursor
}

// partCursor: sent counts the bytes of what grows, whole says that the part is complete at the reader's.
type partCursor struct {
	sent  int64
	whole bool
	// voided counts how often the output that was sent began anew.
	voided int
}

// frame gives the difference between what the reader holds and the view, and moves the cursor. It has no events when there is none.
func (c *cursor) frame(v engine.View) client.Frame {
	f := client.Frame{ChatID: v.Chat.ID, Version: v.Chat.Version, Events: make([]client.Event, 0, 4)}
	first := !c.started
	c.statusEvent(&f, v)
	if c.lost || c.started && v.Chat.HistoryEpoch != c.epoch {
		f.Events = append(f.Events, &client.HistoryResetEvent{Type: client.TypeHistoryReset, HistoryEpoch: v.Chat.HistoryEpoch})
	}
	c.epoch, c.lost = v.Chat.HistoryEpoch, false
	for _, m := range v.Messages {
		f.Events = append(f.Events, &client.MessageEvent{Type: client.TypeMessage, Message: shownMessage(m)})
		c.last = m.ID
	}
	if v.Chat.QueueVersion != c.queue || first {
		c.queue = v.Chat.QueueVersion
		f.Events = append(f.Events, &client.QueueEvent{Type: client.TypeQueue, QueueVersion: c.queue, Queued: shownQueue(v.Queue)})
	}
	c.errorEvent(&f, v.Chat)
	c.actionEvent(&f, v.Chat)
	c.draftEvents(&f, v)
	c.started = true
	return f
}

func (c *cursor) statusEvent(f *client.Frame, v engine.View) {
	now := client.StatusEvent{Type: client.TypeStatus, Status: v.Chat.State, Phase: phaseIn(v, c.status.Phase),
		Archived: v.Chat.Archived, QueueHeld: queueHeld(v.Chat)}
	if c.started && now == c.status {
		return
	}
	c.status = now
	f.Events = append(f.Events, &now)
}

func (c *cursor) errorEvent(f *client.Frame, now *chat.Chat) {
	if now.State != chat.Failed || now.LastError == nil {
		c.failed = client.Error{}
		return
	}
	shown := *shownError(now.LastError)
	if shown == c.failed {
		return
	}
	c.failed = shown
	f.Events = append(f.Events, &client.ErrorEvent{Type: client.TypeError, Error: shown})
}

func (c *cursor) actionEvent(f *client.Frame, now *chat.Chat) {
	if now.State != chat.RequiresAction {
		c.open = ""
		return
	}
	calls := []client.OpenCall{}
	var names strings.Builder
	for _, o := range now.Outstanding {
		if o.Decision != "" {
			continue
		}
		calls = append(calls, client.OpenCall{CallID: o.Call.ID, ToolName: o.Call.Name, Args: o.Call.Args, Kind: o.Kind, Asked: openAsk(o)})
		names.WriteString(o.Call.ID + " " + shownOf(o) + "\n")
	}
	var deadline *client.Time
	if !now.ActionDeadline.IsZero() {
		at := client.At(now.ActionDeadline)
		deadline = &at
	}
	if names.String() == c.open {
		return
	}
	c.open = names.String()
	f.Events = append(f.Events, &client.ActionRequiredEvent{Type: client.TypeActionRequired, ToolCalls: calls, Deadline: deadline})
}

// draftEvents sends retry, preview_reset and the new pieces of the Draft.
func (c *cursor) draftEvents(f *client.Frame, v engine.View) {
	d := v.Draft
	if d == nil {
		c.retry = chat.Retry{}
		if len(c.draft.parts) > 0 {
			// No generation was begun yet; the next one is higher than every one before.
			c.draft = draftCursor{generation: v.Chat.Generation + 1}
			f.Events = append(f.Events, &client.PreviewResetEvent{Type: client.TypePreviewReset, Generation: c.draft.generation})
		}
		return
	}
	if d.Retry == nil {
		c.retry = chat.Retry{}
	} else if *d.Retry != c.retry {
		c.retry = *d.Retry
		f.Events = append(f.Events, &client.RetryEvent{Type: client.TypeRetry, Attempt: d.Retry.Attempt, MaxAttempts: d.Retry.MaxAttempts,
			DelayMS: d.Retry.DelayMS, RetryingAt: client.At(d.Retry.RetryingAt), Kind: d.Retry.Kind, Message: d.Retry.Message,
			StatusCode: d.Retry.StatusCode})
	}
	if d.Generation != c.draft.generation && (len(c.draft.parts) > 0 || len(d.Parts) > 0) {
		if c.started {
			f.Events = append(f.Events, &client.PreviewResetEvent{Type: client.TypePreviewReset, Generation: d.Generation})
		}
		c.draft = draftCursor{generation: d.Generation}
	}
	for i := range d.Parts {
		if i == len(c.draft.parts) {
			c.draft.parts = append(c.draft.parts, partCursor{})
			c.draft.piece(f, i, &d.Parts[i], true)
			continue
		}
		c.draft.piece(f, i, &d.Parts[i], false)
	}
}

// piece sends what is new of one part. A new part is sent also when it is empty, so that its place is taken.
func (c *draftCursor) piece(f *client.Frame, i int, p *engine.DraftPart, fresh bool) {
	held := &c.parts[i]
	if held.whole {
		return
	}
	e := &client.PartEvent{Type: client.TypePart, Generation: c.generation, PartIndex: i, Offset: held.sent, Role: chat.RoleAssistant}
	switch p.Type {
	case chat.PartText, chat.PartReasoning:
		text := wholeRunes(p.Text[min(int(held.sent), len(p.Text)):])
		if text == "" && !fresh {
			return
		}
		e.Part = client.Part{Type: p.Type, Text: text}
		held.sent += int64(len(text))
	case chat.PartToolResult:
		e.Role = chat.RoleTool
		if !c.resultPiece(e, held, p) && !fresh {
			return
		}
	default:
		held.whole = true
		e.Part, e.Offset = shownPart(&p.Part), 0
	}
	c.seq++
	e.Seq = c.seq
	f.Events = append(f.Events, e)
}

// resultPiece fills in a Result: whole once it is there, until then the newest output. The engine keeps only the end of a long
// output; where that does not reach back to what the reader has, the reader starts anew.
func (c *draftCursor) resultPiece(e *client.PartEvent, held *partCursor, p *engine.DraftPart) bool {
	if p.Result != nil {
		held.whole = true
		e.Part, e.Offset = shownPart(&p.Part), 0
		return true
	}
	e.Part = client.Part{Type: p.Type, CallID: p.CallID, ToolName: p.ToolName}
	void := p.Voided != held.voided
	if void {
		// What the reader has is not part of the output any more.
		held.sent, held.voided = 0, p.Voided
		e.Part.ResultReset, e.Offset = true, 0
	}
	news := p.LiveBytes - held.sent
	if news <= 0 || p.Live == "" {
		return void
	}
	if news > int64(len(p.Live)) {
		e.Part.ResultReset = true
		e.Offset = p.LiveBytes - int64(len(p.Live))
		news = int64(len(p.Live))
	}
	piece := wholeRunes(p.Live[int64(len(p.Live))-news:])
	e.Part.ResultDelta = piece
	held.sent = e.Offset + int64(len(piece))
	return piece != "" || void
}

// wholeRunes leaves off a rune at the end of which bytes are missing.
func wholeRunes(s string) string {
	for back := 1; back < utf8.UTFMax && back <= len(s); back++ {
		if c := s[len(s)-back]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-back:]) {
				return s[:len(s)-back]
			}
			return s
		}
	}
	return s
}

// openAsk is what the card of a Call shows, nil for a program's own.
func openAsk(o chat.OutstandingCall) *client.OpenAsk {
	a := o.Asked
	if a == nil {
		return nil
	}
	return &client.OpenAsk{Why: a.Why, Rule: a.Rule, Command: o.Command, Directory: a.Directory, Targets: a.Targets, Files: a.Files, Sandbox: a.Sandbox,
		Offer: a.Offer, Always: a.Always, Shown: a.Shown, Again: a.Again}
}

func shownOf(o chat.OutstandingCall) string {
	if o.Asked == nil {
		return ""
	}
	return o.Asked.Shown
}
