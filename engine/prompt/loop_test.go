package prompt

import (
	"fmt"
	"testing"

	"holdfast/engine/chat"
)

// made writes Calls as letters: each letter is a Tool of that name with a Result of its own.
func (h *told) calls(letters string) {
	for _, l := range letters {
		id := fmt.Sprint("c", len(h.msgs))
		h.assistant(call(id, string(l), `{"b":1, "a":2}`))
		h.result(id, string(l), `{"output":"`+string(l)+`","wall_duration_ms":`+fmt.Sprint(len(h.msgs))+`}`)
	}
}

func TestFindLoop(t *testing.T) {
	nudge := func(n int) string { return chat.TextLoop(n) }
	for _, c := range []struct {
		name  string
		tell  func(h *told)
		count int
		nudge string
		end   bool
	}{
		{"nothing", func(h *told) {}, 0, "", false},
		{"twice", func(h *told) { h.calls("aa") }, 2, "", false},
		{"three times", func(h *told) { h.calls("xaaa") }, 3, nudge(3), false},
		{"three times, told already", func(h *told) { h.calls("aaa"); h.nudge(nudge(3)) }, 3, "", false},
		{"a fourth time, told already", func(h *told) { h.calls("aaa"); h.nudge(nudge(3)); h.calls("a") }, 4, "", false},
		{"four at once, not told", func(h *told) { h.calls("aaaa") }, 4, nudge(4), false},
		{"five times", func(h *told) { h.calls("aaa"); h.nudge(nudge(3)); h.calls("aa") }, 5, "", true},
		{"a cycle of two", func(h *told) { h.calls("ababab") }, 3, nudge(3), false},
		{"a cycle of two, shifted after it was told", func(h *told) { h.calls("ababab"); h.nudge(nudge(3)); h.calls("a") }, 3, "", false},
		{"a cycle of three", func(h *told) { h.calls("abcabcabcabcabc") }, 5, "", true},
		{"a cycle of four is none", func(h *told) { h.calls("abcdabcdabcd") }, 1, "", false},
		{"another loop after the first", func(h *told) { h.calls("aaa"); h.nudge(nudge(3)); h.calls("bbb") }, 3, nudge(3), false},
		{"other Results", func(h *told) {
			for i := range 4 {
				h.assistant(call(fmt.Sprint(i), "a", `{}`))
				h.result(fmt.Sprint(i), "a", fmt.Sprintf(`{"output":"%d"}`, i))
			}
		}, 1, "", false},
		{"other order of keys", func(h *told) {
			h.calls("aa")
			h.assistant(call("last", "a", `{"a":2,"b":1}`))
			h.result("last", "a", `{"wall_duration_ms":9,"output":"a"}`)
		}, 3, nudge(3), false},
		{"waiting Tools", func(h *told) { h.calls("wwwwww") }, 0, "", false},
		{"waiting Tools between", func(h *told) { h.calls("awawa") }, 3, nudge(3), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &told{}
			c.tell(h)
			if got := FindLoop(stored(t, h.msgs), map[string]bool{"w": true}); got != (Loop{c.count, c.nudge, c.end}) {
				t.Errorf("%+v", got)
			}
		})
	}
}
