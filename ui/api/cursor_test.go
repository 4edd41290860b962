package api

import (
	"bytes"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// A reader gets the output of a running Call in pieces; where it missed more than the engine keeps it starts anew.
func TestOutputOfARunningCall(t *testing.T) {
	var c cursor
	var held client.Transcript
	v := engine.View{Chat: &chat.Chat{ID: "c", State: chat.Running, Version: 1}, Draft: &engine.Draft{Generation: 3, Parts: []engine.DraftPart{
		{Part: chat.Part{Type: chat.PartToolCall, CallID: "1", ToolName: "execute", Args: []byte(`{}`)}},
		{Part: chat.Part{Type: chat.PartToolResult, CallID: "1", ToolName: "execute"}}}}}
	call, result := v.Draft.Parts[0], v.Draft.Parts[1]
	whole := ""
	show := func(live string, total int64, want string, reset bool) {
		t.Helper()
		result.Live, result.LiveBytes = live, total
		v.Draft = &engine.Draft{Generation: 3, Parts: []engine.DraftPart{call, result}}
		f := c.frame(v)
		if err := held.Apply(f); err != nil {
			t.Fatal(err)
		}
		if got := held.Parts[1].ResultDelta; got != want {
			t.Errorf("the reader holds %q, want %q", got, want)
		}
		last := f.Events[len(f.Events)-1].(*client.PartEvent)
		if last.Part.ResultReset != reset || last.Role != chat.RoleTool {
			t.Errorf("%+v", last)
		}
		whole = want
	}
	show("one", 3, "one", false)
	show("one ж", 6, "one ж", false)
	show("ne ж and", 10, "one ж and", false)
	show("far later", 5000, "far later", true)
	show("ar later.", 5001, "far later.", false)
	if f := c.frame(v); len(f.Events) != 0 {
		t.Errorf("nothing is new after %q, but %+v", whole, f.Events)
	}
	result.Voided = 1
	show("", 0, "", true)
	show("anew", 4, "anew", false)
	result.Voided = 2
	show("and anew", 8, "and anew", true)
	result.Result, result.Live = []byte(`{"output":"done"}`), ""
	v.Draft = &engine.Draft{Generation: 3, Parts: []engine.DraftPart{call, result}}
	if err := held.Apply(c.frame(v)); err != nil || string(held.Parts[1].Result) != `{"output":"done"}` {
		t.Errorf("%+v, %v", held.Parts[1], err)
	}
}

// A new attempt drops the parts before its own come, also when both happened between two looks.
func TestANewGenerationResetsFirst(t *testing.T) {
	var c cursor
	var held client.Transcript
	at := func(d *engine.Draft) client.Frame {
		t.Helper()
		f := c.frame(engine.View{Chat: &chat.Chat{ID: "c", State: chat.Running, Version: 1}, Draft: d})
		if err := held.Apply(f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	text := func(generation int64, s string) *engine.Draft {
		return &engine.Draft{Generation: generation, Parts: []engine.DraftPart{{Part: chat.Part{Type: chat.PartText, Text: s}}}}
	}
	if got := at(text(1, "old")).Events; got[len(got)-1].EventType() != client.TypePart || got[len(got)-2].EventType() == client.TypePreviewReset {
		t.Errorf("the first frame needs no reset: %+v", got)
	}
	f := at(text(2, "new"))
	if len(f.Events) != 2 || f.Events[0].(*client.PreviewResetEvent).Generation != 2 || f.Events[1].(*client.PartEvent).Seq != 1 {
		t.Errorf("%+v", f.Events)
	}
	retry := text(3, "")
	retry.Parts, retry.Retry, retry.Phase = nil, &chat.Retry{Attempt: 1, Kind: chat.KindBusy, Message: "busy"}, chat.PhaseRetrying
	var types []string
	for _, e := range at(retry).Events {
		types = append(types, e.EventType())
	}
	if got := strings.Join(types, " "); got != "status retry preview_reset" || len(held.Parts) != 0 {
		t.Errorf("a retry is %q", got)
	}
	at(text(3, "third"))
	if held.Parts[0].Text != "third" || held.Generation != 3 {
		t.Errorf("%+v of generation %d", held.Parts, held.Generation)
	}
}

func TestWholeRunes(t *testing.T) {
	for in, want := range map[string]string{"": "", "a": "a", "aж": "aж", "a\xd0": "a", "a\xf0\x9f\x98": "a", "😀": "😀", "\xe2\x82": "", "a\xff": "a\xff"} {
		if got := wholeRunes(in); got != want {
			t.Errorf("wholeRunes(%q) = %q, want %q", in, got, want)
		}
	}
}

func BenchmarkFrameOfOneToken(b *testing.B) {
	var c cursor
	text := strings.Repeat("word ", b.N+1)
	part := engine.DraftPart{Part: chat.Part{Type: chat.PartText}}
	v := engine.View{Chat: &chat.Chat{ID: "c", State: chat.Running, Version: 1}}
	var buf bytes.Buffer
	encoder := newEncoder(&buf)
	b.ReportAllocs()
	for i := range b.N {
		part.Text = text[:5*(i+1)]
		v.Draft = &engine.Draft{Generation: 1, Phase: chat.PhaseStreaming, Parts: []engine.DraftPart{part}}
		f := c.frame(v)
		buf.Reset()
		if err := encoder.Encode(f); err != nil {
			b.Fatal(err)
		}
	}
}
