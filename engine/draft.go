package engine

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/engine/chat"
)

// Draft is a copy of the uncommitted reply of the current Step, as readers see it.
type Draft struct {
	Step       int64
	Generation int64
	// Runner names the lease that writes it; a reader shows it only while the Chat has that lease.
	Runner string
	Phase  chat.Phase
	// Place in the queue before the model server, 0 when not queued.
	Place int
	// PhaseSince and StartedAt are when the phase and the Turn began.
	PhaseSince time.Time
	StartedAt  time.Time
	// PromptBytes is the size of the request; UsualMS how long reading it usually takes here, 0 when unmeasured.
	PromptBytes int64
	Retry       *chat.Retry
	Parts       []DraftPart
	// Consults is the advisor that the Turn may ask, nil without one.
	Consults *Consulting
}

// DraftPart is a Part that may still grow. A tool-result grows in Live until its Result is there.
type DraftPart struct {
	chat.Part
	Since time.Time
	// Grew is when a text was last added to.
	Grew time.Time
	// Live is the output of a running Call so far, its newest 16 KiB; LiveBytes counts all of it.
	Live      string
	LiveBytes int64
	// Voided counts how often the output began anew.
	Voided int
}

// liveBytes is how much of a running Call's output readers see.
const liveBytes = 16 << 10

// adviceBytes is how much of advice: a card shows it from its beginning.
const adviceBytes = 256 << 10

// draft is the growing Draft of one run. One goroutine feeds the model's Deltas; Tools add output from theirs.
type draft struct {
	mu    sync.Mutex // guards all below
	d     Draft
	bufs  []*strings.Builder // the growing text of d.Parts[i]
	saved []int              // how much of each is checkpointed
	// unsaved counts text that no checkpoint holds.
	unsaved int
	// taken counts text that is in chunks on their way to the store.
	taken  int
	chunks int
	// snapshot is the copy that readers share until the Draft grows again.
	snapshot *Draft
	calls    int
	// failed is the reply of the last attempt that wrote one, until another attempt writes.
	failed   []chat.Part
	consults *Consulting
	// ended is what is known of the reply once it is complete.
	ended *ended
}

// ended is how a reply ended and what it used.
type ended struct {
	finish string
	spent  *chat.UsageEntry
}

// end notes that the reply is complete.
func (d *draft) end(e ended) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = &e
}

func (d *draft) reset(step, generation int64, runner string, turnStart, now time.Time, promptBytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.d = Draft{Step: step, Generation: generation, Runner: runner, Phase: chat.PhaseQueued, PhaseSince: now, StartedAt: turnStart,
		PromptBytes: promptBytes, Consults: d.consults}
	d.bufs, d.saved, d.unsaved, d.chunks, d.snapshot, d.calls, d.failed, d.ended = nil, nil, 0, 0, nil, 0, nil, nil
}

// restart empties the Draft for another attempt under a new generation. What the failed one wrote is remembered for partial.
func (d *draft) restart(r *chat.Retry, now time.Time) {
	failed := d.reply()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(failed) > 0 {
		d.failed = failed
	}
	d.d.Generation++
	d.d.Parts, d.bufs, d.saved, d.unsaved, d.calls = nil, nil, nil, 0, 0
	d.d.Retry = r
	d.d.Phase, d.d.PhaseSince, d.d.Place = chat.PhaseRetrying, now, 0
	d.snapshot = nil
}

func (d *draft) setPhase(p chat.Phase, place int, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.d.Phase != p {
		d.d.Phase, d.d.PhaseSince = p, now
	}
	if p != chat.PhaseRetrying {
		d.d.Retry = nil
	}
	d.d.Place = place
	d.snapshot = nil
}

// grow appends one Delta of text, reasoning or a Call, and gives the unsaved bytes.
func (d *draft) grow(x chat.Delta, now time.Time) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.snapshot, d.failed = nil, nil
	d.d.Retry = nil
	switch {
	case x.Call != nil:
		c := *x.Call
		if !keepsID(c.ID) {
			c.ID = callID(d.d.Step, d.calls)
		}
		d.calls++
		if n := len(d.d.Parts); n > 0 && d.d.Parts[n-1].Type == chat.PartReasoning {
			d.complete(now)
		}
		p := d.begin(now)
		p.Type, p.CallID, p.ToolName, p.Args = chat.PartToolCall, c.ID, c.Name, c.Args
		d.unsaved += len(c.Args) + len(c.Name)
	case x.Reasoning != "":
		d.text(chat.PartReasoning, x.Reasoning, now)
	case x.Text != "":
		d.text(chat.PartText, x.Text, now)
	}
	return d.unsaved
}

func (d *draft) text(t chat.PartType, s string, now time.Time) {
	n := len(d.d.Parts)
	if n == 0 || d.d.Parts[n-1].Type != t {
		begun := now
		d.complete(begun)
		p := d.begin(begun)
		p.Type, p.CreatedAt = t, &begun
		n++
	}
	d.d.Parts[n-1].Grew = now
	d.bufs[n-1].WriteString(s)
	d.unsaved += len(s)
}

// complete ends the last Part: another one begins.
func (d *draft) complete(now time.Time) {
	if n := len(d.d.Parts); n > 0 && d.d.Parts[n-1].CompletedAt == nil {
		d.d.Parts[n-1].CompletedAt = &now
	}
}

func (d *draft) add(p chat.Part, now time.Time) { d.begin(now).Part = p }

// begin gives a new last Part to be filled in. A Part is large: a copy of it would have to fit on the stack of whoever grows the Draft.
func (d *draft) begin(now time.Time) *DraftPart {
	d.d.Parts = append(d.d.Parts, DraftPart{})
	d.bufs = append(d.bufs, &strings.Builder{})
	d.saved = append(d.saved, 0)
	p := &d.d.Parts[len(d.d.Parts)-1]
	p.Since, p.Grew = now, now
	return p
}

// replace puts other Parts in place of the reply so far, under a new generation (Calls recognised in text).
func (d *draft) replace(parts []chat.Part, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.d.Generation++
	d.d.Parts, d.bufs, d.saved, d.unsaved = nil, nil, nil, 0
	for _, p := range parts {
		text := p.Text
		p.Text = ""
		d.add(p, now)
		d.bufs[len(d.bufs)-1].WriteString(text)
		d.unsaved += len(text) + len(p.Args)
	}
	d.snapshot = nil
}

// empty says whether the model has written nothing yet.
func (d *draft) empty() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.d.Parts) == 0
}

// startCall shows a running Call's Result as an open Part; output and finishCall fill it.
func (d *draft) startCall(callID, tool string, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(chat.Part{Type: chat.PartToolResult, CallID: callID, ToolName: tool, CreatedAt: &now}, now)
	d.snapshot = nil
}

func (d *draft) output(callID, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := d.resultOf(callID)
	if i < 0 || d.d.Parts[i].CompletedAt != nil {
		return
	}
	p := &d.d.Parts[i]
	p.LiveBytes += int64(len(text))
	p.Live += text
	most := liveBytes
	if p.ToolName == chat.AdvisorTool {
		most = adviceBytes
	}
	if len(p.Live) > most {
		p.Live = strings.ToValidUTF8(p.Live[len(p.Live)-most:], "")
	}
	d.snapshot = nil
}

// voidOutput empties the output of a running Call, which begins anew.
func (d *draft) voidOutput(callID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := d.resultOf(callID)
	if i < 0 || d.d.Parts[i].CompletedAt != nil {
		return
	}
	p := &d.d.Parts[i]
	p.Live, p.LiveBytes = "", 0
	p.Voided++
	d.snapshot = nil
}

// consult shows what is known of the consultation that begins.
func (d *draft) consult(c *Consulting) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.d.Consults = c
	d.snapshot = nil
}

func (d *draft) finishCall(r chat.Part) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.resultOf(r.CallID); i >= 0 {
		d.d.Parts[i].Part = r
		d.d.Parts[i].Live = ""
	}
	d.snapshot = nil
}

func (d *draft) resultOf(callID string) int {
	for i := len(d.d.Parts) - 1; i >= 0; i-- {
		if d.d.Parts[i].Type == chat.PartToolResult && d.d.Parts[i].CallID == callID {
			return i
		}
	}
	return -1
}

// view gives a copy for readers; those that come before the Draft grows again share it.
func (d *draft) view() *Draft {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.snapshot == nil {
		v := d.d
		v.Parts = make([]DraftPart, len(d.d.Parts))
		copy(v.Parts, d.d.Parts)
		for i := range v.Parts {
			if b := d.bufs[i]; b.Len() > 0 {
				v.Parts[i].Text = b.String()
			}
		}
		d.snapshot = &v
	}
	return d.snapshot
}

// reply gives the model's Parts (no Results) as they stand.
func (d *draft) reply() []chat.Part {
	var parts []chat.Part
	for _, p := range d.view().Parts {
		if p.Type == chat.PartToolResult {
			continue
		}
		if p.Type == chat.PartToolCall {
			p.CreatedAt = nil
		}
		if p.CompletedAt == nil && p.Type == chat.PartReasoning {
			grew := p.Grew
			p.CompletedAt = &grew
		}
		parts = append(parts, p.Part)
	}
	return parts
}

// partial is the reply of the newest attempt that wrote anything.
func (d *draft) partial() []chat.Part {
	if parts := d.reply(); len(parts) > 0 {
		return parts
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

func (d *draft) generation() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.d.Generation
}

func (d *draft) unsavedBytes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unsaved + d.taken
}

// settled says that no chunk is on its way any more: it is stored, or waits for room.
func (d *draft) settled() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken = 0
}

// unsavedChunk takes what no checkpoint holds yet; nil when there is nothing. n is the chunk's number within the Step.
func (d *draft) unsavedChunk(now time.Time) (chunk *chat.DraftChunk, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unsaved == 0 {
		return nil, 0
	}
	c := &chat.DraftChunk{Step: d.d.Step, Generation: d.d.Generation, First: -1, At: now}
	for i := range d.d.Parts {
		p := d.d.Parts[i].Part
		if p.Type == chat.PartToolResult {
			continue
		}
		text := d.bufs[i].String()
		isNew := d.saved[i] == 0
		if !isNew && len(text) <= d.saved[i]-1 {
			continue
		}
		if c.First < 0 {
			c.First = i
		}
		if isNew {
			p.Text = text
		} else {
			p.Text = text[d.saved[i]-1:]
		}
		d.saved[i] = len(text) + 1
		c.Parts = append(c.Parts, p)
	}
	d.taken += d.unsaved
	d.unsaved = 0
	d.chunks++
	return c, d.chunks
}

// wholeChunk marks the Step's reply as complete: a restart then settles its Calls instead of keeping a partial.
func (d *draft) wholeChunk(now time.Time) (*chat.DraftChunk, int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.chunks++
	c := &chat.DraftChunk{Step: d.d.Step, Generation: d.d.Generation, First: len(d.d.Parts), Whole: true, At: now}
	if d.ended != nil {
		c.FinishReason, c.Spent = d.ended.finish, d.ended.spent
	}
	return c, d.chunks
}

// joinChunks gives what the newest generation among a Step's checkpoints holds.
func joinChunks(chunks []*chat.DraftChunk) remains {
	var r remains
	for _, c := range chunks {
		if c.Generation > r.generation {
			r = remains{generation: c.Generation}
		}
		if c.Generation < r.generation {
			continue
		}
		r.step = c.Step
		if c.Whole {
			r.whole, r.ended = true, ended{c.FinishReason, c.Spent}
		}
		for i, p := range c.Parts {
			at := c.First + i
			if at < len(r.parts) {
				r.parts[at].Text += p.Text
				continue
			}
			r.parts = append(r.parts, p)
		}
	}
	return r
}

// pause shows that the finished reply waits for something, without emptying the Draft.
func (d *draft) pause(r *chat.Retry, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.d.Retry = r
	if d.d.Phase != chat.PhaseRetrying {
		d.d.Phase, d.d.PhaseSince = chat.PhaseRetrying, now
	}
	d.snapshot = nil
}

// clear empties the Draft: what it held is stored, or is not to be kept.
func (d *draft) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.d.Parts, d.bufs, d.saved, d.unsaved, d.snapshot, d.calls, d.failed = nil, nil, nil, 0, nil, 0, nil
	d.d.Generation++
}

// show puts a Part of the engine's own making into the Draft, such as a compaction's card.
func (d *draft) show(p chat.Part, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.add(p, now)
	d.snapshot = nil
}

// callID names a Call of ours; no Step is made twice.
func callID(step int64, i int) string {
	return "call_" + strconv.FormatInt(step, 36) + "_" + strconv.Itoa(i)
}

// keepsID says whether a Call keeps the id that its server gave. Ids stand in the addresses that a page posts to, and an answer to a
// Call must never lead elsewhere; nor may a server take the names that callID gives.
func keepsID(id string) bool {
	if len(id) == 0 || len(id) > 64 || strings.HasPrefix(id, "call_") && strings.Count(id, "_") > 1 {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}
