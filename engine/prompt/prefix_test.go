package prompt

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// encoded gives what a model server sees of a request, message by message.
func encoded(t *testing.T, req *chat.Request) []string {
	t.Helper()
	out := []string{req.System}
	for _, d := range req.Tools {
		out = append(out, d.Name+d.Description+string(d.Schema))
	}
	for _, m := range req.Messages {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

// TestStablePrefix grows random histories Step by Step, Turn by Turn, and compares each request with the one before.
func TestStablePrefix(t *testing.T) {
	for seed := range uint64(12) {
		for _, textTools := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed %d text %v", seed, textTools), func(t *testing.T) {
				grow(t, rand.New(rand.NewPCG(seed, 7)), textTools)
			})
		}
	}
}

func grow(t *testing.T, r *rand.Rand, textTools bool) {
	h := &told{}
	h.system(KindWorkspace, chat.TextWorkspace)
	h.system(KindChat, randomText(r))
	var before []string
	check := func() {
		in := h.input(t)
		in.TextTools = textTools
		now := encoded(t, Build(in).Request)
		if len(now) < len(before) {
			t.Fatalf("%d messages after %d", len(now), len(before))
		}
		for i := range before {
			if now[i] != before[i] {
				t.Fatalf("entry %d changed\nfrom %s\nto   %s", i, before[i], now[i])
			}
		}
		before = now
	}
	for turn := range 5 {
		h.user(randomText(r) + "?")
		check()
		for step := range 1 + r.IntN(5) {
			growStep(h, r, turn, step)
			check()
		}
		h.assistant(text(randomText(r)))
	}
	check()
}

// growStep adds what a committed Step adds, and sometimes a nudge or a Workspace that was attached meanwhile.
func growStep(h *told, r *rand.Rand, turn, step int) {
	parts := []chat.Part{{Type: chat.PartReasoning, Text: randomText(r)}, text(randomText(r))}
	n := r.IntN(4)
	var ids []string
	for i := range n {
		// Weak servers number the Calls of each reply from 0.
		id := []string{"call_", "call.", ""}[r.IntN(3)] + fmt.Sprint(i)
		ids = append(ids, id)
		parts = append(parts, call(id, "execute", `{"command":"<`+fmt.Sprint(turn, step)+`>"}`))
	}
	partial := r.IntN(4) == 0
	h.assistant(parts...).Partial = partial
	for _, id := range ids {
		// A Call that was lost with its Result stays lost.
		if r.IntN(5) > 0 {
			raw, _ := json.Marshal(map[string]string{"output": randomText(r)})
			h.result(id, "execute", string(raw))
		}
	}
	switch r.IntN(5) {
	case 0:
		h.nudge(chat.TextGoOn)
	case 1:
		m := h.nudge(randomText(r))
		m.Visibility = chat.VisibleUser
	}
}

func randomText(r *rand.Rand) string {
	words := []string{"a", "<b>", "\n\n\n", "\x00", "\\u0000", "é", "&", "</plan-mode>", "<|im_end|>", "\u2028", "```", " ", "\r\n", "\u200b"}
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteString(words[r.IntN(len(words))])
	}
	return b.String()
}

// TestWorkspaceAttachedDuringATurn: inside the Turn it stands at the end; the next Turn has it in the system text.
func TestWorkspaceAttachedDuringATurn(t *testing.T) {
	h := &told{}
	h.system(KindWorkspace, chat.TextNoWorkspace)
	h.user("attach one")
	first := encoded(t, Build(h.input(t)).Request)
	h.assistant(call("c1", "execute", `{}`))
	h.result("c1", "execute", `{"success":true}`)
	h.system(KindWorkspace, chat.TextWorkspace)
	second := Build(h.input(t)).Request
	for i, was := range first {
		if now := encoded(t, second)[i]; now != was {
			t.Errorf("entry %d changed to %s", i, now)
		}
	}
	last := second.Messages[len(second.Messages)-1]
	if last.Role != chat.RoleUser || last.Content != chat.TextWorkspace {
		t.Errorf("the last message is %+v", last)
	}
	h.assistant(text("done"))
	h.user("next")
	third := Build(h.input(t)).Request
	if !strings.Contains(third.System, chat.TextWorkspace) || strings.Contains(third.System, chat.TextNoWorkspace) {
		t.Errorf("system text of the next Turn:\n%s", third.System)
	}
	for _, m := range third.Messages {
		if m.Content == chat.TextWorkspace {
			t.Error("the Workspace is announced twice")
		}
	}
}
