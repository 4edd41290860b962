package client

import (
	"fmt"

	"holdfast/engine/chat"
)

// Transcript is what a reader of the stream holds. Its zero value is empty; Apply keeps it equal to the Chat.
type Transcript struct {
	Status   StatusEvent
	Version  int64
	Messages []Message
	Queued   []QueuedMessage
	// Parts are those of the uncommitted reply; a running Call's output is joined in ResultDelta.
	Parts      []Part
	Generation int64
	// Error is set while the Chat stands in error, Open while Calls wait for a person or a program; Deadline is when the latter is late.
	Error    *Error
	Open     []OpenCall
	Deadline *Time

	// ends holds, per part, the offset that its next piece must have; seq is the last one.
	ends []int64
	seq  int64
}

// Apply takes one Frame. An error means that the stream had a gap or a double: what is held is not to be believed any more.
func (t *Transcript) Apply(f Frame) error {
	if f.First {
		t.dropParts()
	}
	t.Version = f.Version
	for _, e := range f.Events {
		if err := t.apply(e); err != nil {
			return fmt.Errorf("version %d: %w", f.Version, err)
		}
	}
	return nil
}

func (t *Transcript) apply(e Event) error {
	switch e := e.(type) {
	case *StatusEvent:
		t.Status = *e
		if e.Status != chat.Failed {
			t.Error = nil
		}
		if e.Status != chat.RequiresAction {
			t.Open, t.Deadline = nil, nil
		}
	case *HistoryResetEvent:
		t.Messages = nil
	case *MessageEvent:
		if n := len(t.Messages); n > 0 && t.Messages[n-1].ID >= e.Message.ID {
			return fmt.Errorf("message %d came after message %d", e.Message.ID, t.Messages[n-1].ID)
		}
		t.Messages = append(t.Messages, e.Message)
	case *QueueEvent:
		t.Queued = e.Queued
	case *ErrorEvent:
		shown := e.Error
		t.Error = &shown
	case *ActionRequiredEvent:
		t.Open, t.Deadline = e.ToolCalls, e.Deadline
	case *PreviewResetEvent:
		t.dropParts()
		t.Generation = e.Generation
	case *PartEvent:
		return t.part(e)
	}
	return nil
}

func (t *Transcript) dropParts() { t.Parts, t.ends, t.seq, t.Generation = nil, nil, 0, 0 }

func (t *Transcript) part(e *PartEvent) error {
	if t.Generation != 0 && e.Generation != t.Generation {
		return fmt.Errorf("a part of generation %d came into generation %d", e.Generation, t.Generation)
	}
	if e.Seq <= t.seq {
		return fmt.Errorf("piece %d came after piece %d", e.Seq, t.seq)
	}
	if e.PartIndex > len(t.Parts) {
		return fmt.Errorf("part %d came, but only %d are there", e.PartIndex, len(t.Parts))
	}
	t.Generation, t.seq = e.Generation, e.Seq
	if e.PartIndex == len(t.Parts) {
		t.Parts = append(t.Parts, Part{Type: e.Part.Type, CallID: e.Part.CallID, ToolName: e.Part.ToolName})
		t.ends = append(t.ends, 0)
	}
	held, end := &t.Parts[e.PartIndex], &t.ends[e.PartIndex]
	piece := e.Part.Text + e.Part.ResultDelta
	if e.Part.Args != nil || e.Part.Result != nil {
		*held, *end = e.Part, 0
		return nil
	}
	if e.Part.ResultReset {
		held.ResultDelta, *end = "", e.Offset
	}
	if e.Offset != *end {
		return fmt.Errorf("part %d goes on at byte %d, but %d are there", e.PartIndex, e.Offset, *end)
	}
	held.Text += e.Part.Text
	held.ResultDelta += e.Part.ResultDelta
	*end += int64(len(piece))
	return nil
}
