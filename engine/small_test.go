package engine_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

// asked lists who answered the Steps and the titles so far.
func (r *rig) asked() string {
	r.t.Helper()
	var out []string
	for _, q := range r.server.Requests("/api/chat") {
		var p scripted.Prompt
		if err := json.Unmarshal(q.Body, &p); err != nil {
			r.t.Fatal(err)
		}
		what := "turn"
		if len(p.Format) > 0 {
			what = "title"
		}
		out = append(out, what+" "+p.Model)
	}
	return strings.Join(out, ", ")
}

// crowd is a large and a small model, both answering everything, in that much memory.
func crowd(memory int64) setup {
	big, little := titling(`{"title":"A good title"}`), titling(`{"title":"A good title"}`)
	big.Name, big.Size = "big:latest", 6<<30
	little.Name, little.Size = "little:latest", 4<<30
	return setup{model: big, others: []scripted.Model{little}, memory: memory}
}

// TestAChatsModelStaysInMemory: with memory for one model a title costs no loading, whoever makes it.
func TestAChatsModelStaysInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, crowd(8<<30))
		for range 3 {
			c := r.named("please name this chat well")
			r.rest(c.ID)
			synctest.Wait()
		}
		if got := r.server.Evicted(); len(got) != 0 {
			t.Errorf("%v were pushed out", got)
		}
		if got := r.asked(); strings.Contains(got, "little") || strings.Count(got, "title big:latest") != 3 {
			t.Errorf("asked were %s", got)
		}
	})
}

// TestTitlesAreMadeBesideTheChatsModel: the smaller model that is loaded anyway makes them, so that the cache of the larger one survives; its
// usage is booked on its own config.
func TestTitlesAreMadeBesideTheChatsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, crowd(20<<30))
		var little chat.ModelConfigID
		r.update(func(tx *kv.Tx) error {
			all, err := tx.ModelConfigs()
			i := slices.IndexFunc(all, func(c *chat.ModelConfig) bool { return c.Model == "little:latest" })
			little = all[i].ID
			return err
		})
		other, err := r.engine.Create(t.Context(), r.who, engine.CreateInput{Content: engine.TextParts("load it"), Title: "x", ModelConfigID: little})
		if err != nil {
			t.Fatal(err)
		}
		r.rest(other.ID)
		c := r.named("please name this chat well")
		r.rest(c.ID)
		synctest.Wait()
		if got := r.asked(); got != "turn little:latest, turn big:latest, title little:latest" {
			t.Errorf("asked were %s", got)
		}
		if got := r.view(c.ID).Chat.Title; got != "A good title" {
			t.Errorf("it is called %q", got)
		}
		r.update(func(tx *kv.Tx) error {
			all, err := tx.Usage(c.ID)
			for _, u := range all {
				if u.Kind == chat.UsageTitle && (u.ModelConfigID != little || u.Model != "little:latest") {
					t.Errorf("the title is booked on %s", u.Model)
				}
			}
			return err
		})
	})
}
