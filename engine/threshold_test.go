package engine_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

// TestAPersonsOwnThreshold counts before the model's: what the model would compact at half its window stays whole, or the other way.
func TestAPersonsOwnThreshold(t *testing.T) {
	for _, c := range []struct {
		own, config int
		runs        bool
	}{{100, 50, false}, {20, 100, true}} {
		r := prepareRig(t, setup{config: func(m *chat.ModelConfig) { m.CompactionThreshold = &c.config },
			model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
				if isSummary(p) {
					return scripted.Text("a summary")
				}
				return scripted.Reply{Frames: scripted.Words("re: " + p.User()), Eval: 20000}
			}}})
		r.update(func(tx *kv.Tx) error {
			return tx.PutUser(&chat.User{ID: r.who.UserID, Name: "owner", Role: chat.UserAdmin, CreatedAt: time.Now().UTC(),
				CompactionThresholds: map[chat.ModelConfigID]int{r.config.ID: c.own}})
		})
		r.start()
		id := r.create("one")
		if at := r.rest(id).CompactAt; at != c.own {
			t.Errorf("the page shows %d", at)
		}
		r.send(id, "two", "")
		if got := strings.Contains(transcript(r.rest(id).Messages), chat.SummaryTool); got != c.runs {
			t.Errorf("own %d, the model's %d: compacted %v", c.own, c.config, got)
		}
	}
}
