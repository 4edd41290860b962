package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

// TestChunksJoinToTheDraft: however a Draft grows, restarts, is rebuilt and is checkpointed, its chunks join to what was unsaved nowhere.
func TestChunksJoinToTheDraft(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	now := time.Now()
	for range 2000 {
		d := &draft{}
		d.reset(5, 10, "r", now, now, 0)
		var chunks []*chat.DraftChunk
		save := func() {
			if c, n := d.unsavedChunk(now); c != nil {
				if n != len(chunks)+1 {
					t.Fatalf("seed %d: chunk %d has the number %d", seed, len(chunks)+1, n)
				}
				chunks = append(chunks, c)
			}
		}
		for range random.IntN(30) {
			switch random.IntN(12) {
			case 0:
				save()
				d.restart(&chat.Retry{}, now)
			case 1:
				d.replace([]chat.Part{{Type: chat.PartText, Text: "rebuilt"}, {Type: chat.PartToolCall, CallID: "c", Args: json.RawMessage(`{}`)}}, now)
			case 2:
				d.grow(chat.Delta{Call: &chat.Call{Name: "tool", Args: json.RawMessage(`{"a":1}`)}}, now)
			case 3, 4:
				save()
			case 5:
				d.grow(chat.Delta{Reasoning: "hm "}, now)
			default:
				d.grow(chat.Delta{Text: fmt.Sprintf("word%d ", random.IntN(100))}, now)
			}
		}
		save()
		want := partsText(d.reply())
		left := joinChunks(chunks)
		parts, step, generation, whole := left.parts, left.step, left.generation, left.whole
		if len(chunks) > 0 && generation == d.generation() && partsText(parts) != want || whole || len(chunks) > 0 && step != 5 {
			t.Fatalf("seed %d: the chunks join to\n%s\nwant\n%s", seed, partsText(parts), want)
		}
		if len(chunks) > 0 && want != "" && generation != d.generation() {
			t.Fatalf("seed %d: generation %d of %d is saved, and the draft has %q", seed, generation, d.generation(), want)
		}
	}
}

func partsText(parts []chat.Part) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%s %s %s %s %s\n", p.Type, p.CallID, p.ToolName, p.Args, p.Text)
	}
	return b.String()
}

func TestCallsGetIDsOfTheirOwn(t *testing.T) {
	d := &draft{}
	now := time.Now()
	d.reset(37, 1, "r", now, now, 0)
	for range 3 {
		d.grow(chat.Delta{Call: &chat.Call{Name: "x", Args: json.RawMessage(`{}`)}}, now)
	}
	seen := map[string]bool{}
	for _, p := range d.reply() {
		if p.CallID == "" || seen[p.CallID] {
			t.Errorf("id %q", p.CallID)
		}
		seen[p.CallID] = true
	}
}

// TestReasoningEndsWithItsCall: reasoning that a Call follows is over when the Call comes, and what ends a reply lasted until it last grew.
func TestReasoningEndsWithItsCall(t *testing.T) {
	began := time.Now()
	d := &draft{}
	d.reset(1, 1, "r", began, began, 0)
	d.grow(chat.Delta{Reasoning: "first "}, began)
	d.grow(chat.Delta{Reasoning: "this"}, began.Add(30*time.Second))
	lasted := func() time.Duration { p := d.reply()[0]; return p.CompletedAt.Sub(*p.CreatedAt) }
	if d.view().Parts[0].CompletedAt != nil || lasted() != 30*time.Second {
		t.Errorf("reasoning that nothing follows lasted %v", lasted())
	}
	d.grow(chat.Delta{Call: &chat.Call{Name: "execute", Args: json.RawMessage(`{}`)}}, began.Add(40*time.Second))
	if d.view().Parts[0].CompletedAt == nil {
		t.Error("the reasoning counts on while its call runs")
	}
	d.startCall(d.view().Parts[1].CallID, "execute", began.Add(time.Hour))
	if lasted() != 40*time.Second || d.reply()[1].CompletedAt != nil {
		t.Errorf("reasoning before a call lasted %v", lasted())
	}
}

// TestLiveOutputIsBounded: readers get the newest 16 KiB of a running Call, whole runes, and the count of all of it.
func TestLiveOutputIsBounded(t *testing.T) {
	d := &draft{}
	now := time.Now()
	d.reset(1, 1, "r", now, now, 0)
	d.startCall("c", "execute", now)
	for range 10 {
		d.output("c", strings.Repeat("é", 1500))
	}
	p := d.view().Parts[0]
	if len(p.Live) > liveBytes || strings.Trim(p.Live, "é") != "" || p.LiveBytes != 30000 {
		t.Errorf("%d bytes are shown of %d", len(p.Live), p.LiveBytes)
	}
	d.finishCall(chat.Part{Type: chat.PartToolResult, CallID: "c", Result: json.RawMessage(`{}`), CompletedAt: &now})
	d.output("c", "late")
	if p := d.view().Parts[0]; p.Live != "" || p.Result == nil {
		t.Errorf("%+v", p)
	}
}

func TestPacerTouchesFirstAndLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var touches []time.Duration
		begun := time.Now()
		watched := true
		p := &pacer{every: 50 * time.Millisecond, touch: func() { touches = append(touches, time.Since(begun)) }, watched: func() bool { return watched }}
		for range 12 {
			p.grew()
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := fmt.Sprint(touches); got != "[0s 50ms 100ms 150ms]" {
			t.Errorf("touched at %s", got)
		}
		// A new generation never waits, and nobody is touched who does not watch.
		p.grew()
		p.begin()
		p.grew()
		watched = false
		p.grew()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(touches) != 6 {
			t.Errorf("%d touches", len(touches))
		}
	})
}
