package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func count(n int64) *int64 { return &n }

func built(window int, bytes int64, used chat.ContextUse) Built {
	return Built{Request: &chat.Request{Model: "m", Options: chat.Options{NumCtx: window}}, Bytes: bytes, Tokens: estimate(used, bytes)}
}

func TestUsedTakesTheServersCounts(t *testing.T) {
	prev := chat.ContextUse{Tokens: 1000, PromptTokens: 900, Limit: 8192, PromptBytes: 3000}
	for _, c := range []struct {
		name   string
		prev   chat.ContextUse
		bytes  int64
		usage  chat.Usage
		tokens int64
		prompt int64
	}{
		{"first", chat.ContextUse{}, 3000, chat.Usage{InputTokens: count(800), OutputTokens: count(50)}, 850, 800},
		{"grown", prev, 3600, chat.Usage{InputTokens: count(1200), OutputTokens: count(50)}, 1250, 1200},
		{"grown, but only the uncached part was counted", prev, 3600, chat.Usage{InputTokens: count(200), OutputTokens: count(50)}, 1250, 1200},
		{"grown, with the reasoning left out", prev, 3600, chat.Usage{InputTokens: count(950), OutputTokens: count(50)}, 1000, 950},
		{"shorter after a compaction", prev, 900, chat.Usage{InputTokens: count(300), OutputTokens: count(50)}, 350, 300},
		{"no output count", prev, 3600, chat.Usage{InputTokens: count(1200)}, 1200, 1200},
	} {
		got := Used(c.prev, built(8192, c.bytes, c.prev), c.usage, []chat.Part{text("0123456789")})
		if got.Tokens != c.tokens || got.PromptTokens != c.prompt || got.Limit != 8192 || got.PromptBytes != c.bytes+messageBytes+10 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if got := Used(prev, built(8192, 9000, prev), chat.Usage{}, nil); got != prev {
		t.Errorf("without counts: %+v", got)
	}
}

func TestEstimate(t *testing.T) {
	used := chat.ContextUse{Tokens: 1000, PromptTokens: 900, PromptBytes: 3000}
	for _, c := range []struct {
		used  chat.ContextUse
		bytes int64
		want  int64
	}{{chat.ContextUse{}, 300, 100}, {used, 3000, 1000}, {used, 3301, 1101}, {used, 600, 200}} {
		if got := estimate(c.used, c.bytes); got != c.want {
			t.Errorf("%+v %d: %d, want %d", c.used, c.bytes, got, c.want)
		}
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		window, most int
		tokens       int64
		want         bool
	}{
		{8192, 0, 6144, true}, {8192, 0, 6145, false}, {8192, 100, 8092, true}, {8192, 100, 8093, false},
		{262144, 0, 262144 - 32000, true}, {262144, 0, 262144 - 31999, false},
	} {
		if got := Fits(built(c.window, c.tokens*3, chat.ContextUse{}), c.most); got != c.want {
			t.Errorf("window %d most %d tokens %d: %v", c.window, c.most, c.tokens, got)
		}
	}
}

// TestNoRoomForAnyMessage: where the definitions alone fill the window, nothing is advised that leaves them as they are.
func TestNoRoomForAnyMessage(t *testing.T) {
	h := &told{}
	h.user("hello")
	in := h.input(t)
	in.Window = 4096
	in.Tools = []chat.ToolDef{{Name: "big", Schema: json.RawMessage(`{"description":"` + strings.Repeat("x", 12_000) + `"}`)}}
	b := Build(in)
	if e := ContextFull(b); NewestFits(b, 0) || !strings.Contains(e.Detail, "take tools or instructions away") || strings.Contains(e.Detail, "Clear") {
		t.Errorf("%+v", e)
	}
}

// TestNextRequestAboveTheWindow is the pure half of case 49: what the engine decides from.
func TestNextRequestAboveTheWindow(t *testing.T) {
	h := &told{}
	h.user("read it all")
	h.assistant(call("c1", "read_file", `{"path":"big"}`))
	h.result("c1", "read_file", `{"content":"`+strings.Repeat("x", 30000)+`"}`)
	in := h.input(t)
	in.Window = 8192
	b := Build(in)
	if Fits(b, 0) || !NewestFits(b, 0) {
		t.Fatalf("fits %v, newest fits %v, %d tokens", Fits(b, 0), NewestFits(b, 0), b.Tokens)
	}
	e := ContextFull(b)
	if e.Kind != chat.KindContextFull || !strings.Contains(e.Detail, "Largest: a result of read_file (30") || e.Retryable {
		t.Errorf("%+v", e)
	}
	req, ok := SummaryRequest(b, false)
	if !ok || RequestBytes(req)/3+int64(req.MaxTokens) > 8192 {
		t.Errorf("the summary request has %d bytes, ok %v", RequestBytes(req), ok)
	}
	if len(b.Request.Messages[2].Content) < 30000 {
		t.Error("making a summary request changed the request")
	}

	// A server that counts more tokens than the estimate refuses what seemed to fit; the summary must then be asked with less.
	in.Window = 20000
	seems := Build(in)
	if !Fits(seems, 0) {
		t.Fatalf("%d tokens do not fit", seems.Tokens)
	}
	if req, ok := SummaryRequest(Refused(seems), false); !ok || RequestBytes(req) > seems.Bytes-10000 {
		t.Errorf("ok %v, %d bytes after %d", ok, RequestBytes(req), seems.Bytes)
	}

	h.user(strings.Repeat("y", 30000))
	in = h.input(t)
	in.Window = 8192
	if b := Build(in); NewestFits(b, 0) {
		t.Error("a user Message larger than the window fits")
	}
}

func TestThresholdReached(t *testing.T) {
	at := func(used, limit int64) chat.ContextUse { return chat.ContextUse{Tokens: used, Limit: limit} }
	for _, c := range []struct {
		name        string
		used        chat.ContextUse
		threshold   int
		compactions int
		want        bool
	}{
		{"70 of 100", at(70, 100), 70, 0, true},
		{"69 of 100", at(69, 100), 70, 0, false},
		{"never", at(100, 100), 100, 0, false},
		{"always", at(1, 100), 0, 0, true},
		{"unknown", at(0, 100), 0, 0, false},
		{"no window", at(10, 0), 0, 0, false},
		{"third time", at(90, 100), 70, 2, true},
		{"fourth time", at(90, 100), 70, 3, false},
	} {
		if got := ThresholdReached(c.used, c.threshold, c.compactions); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	n := func(v int) *int { return &v }
	for _, c := range []struct {
		user, config *int
		want         int
	}{{nil, nil, 70}, {n(50), n(60), 50}, {nil, n(60), 60}, {n(101), n(60), 70}, {n(-1), nil, 70}, {n(0), nil, 0}, {nil, n(100), 100}} {
		if got := chat.CompactionThreshold(c.user, c.config); got != c.want {
			t.Errorf("Threshold = %d, want %d", got, c.want)
		}
	}
}
