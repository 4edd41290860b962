package prompt

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// BenchmarkBuild is a short chat, and a long one with Results of 8 KiB.
func BenchmarkBuild(b *testing.B) {
	for _, c := range []struct{ turns, steps, bytes int }{{10, 0, 0}, {20, 10, 8 << 10}} {
		b.Run(fmt.Sprintf("%d turns of %d steps", c.turns, c.steps), func(b *testing.B) {
			h := &told{}
			h.system(KindWorkspace, chat.TextWorkspace)
			for range c.turns {
				h.user("Add a --version flag and run the tests.")
				for i := range c.steps {
					id := fmt.Sprint("c", i)
					h.assistant(text("I look."), call(id, "read_file", `{"path":"main.go"}`))
					h.result(id, "read_file", `{"content":"`+strings.Repeat(`if a <b && c {\n\t`, c.bytes/18)+`"}`)
				}
				h.assistant(text("Done."))
			}
			in := h.input(b)
			b.ReportAllocs()
			for b.Loop() {
				Build(in)
			}
		})
	}
}
