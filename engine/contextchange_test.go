package engine_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/engine"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/snapshot"
)

// TestAForkHasThePinOfItsChat: the copy goes on with what its history was written with, and is marked as its chat is.
func TestAForkHasThePinOfItsChat(t *testing.T) {
	var asked atomic.Value
	r := withRoom(newRig(t, setup{place: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if p.User() == "again" {
			asked.Store(p.Messages[0].Content)
		}
		return scripted.Text("done")
	}}}))
	r.push(r.found("AGENTS.md", "Use tabs."))
	id := r.create("hello")
	r.rest(id)
	r.push(r.found("AGENTS.md", "Use spaces."))
	fork, err := r.engine.Fork(t.Context(), r.who, engine.ForkInput{ChatID: id})
	if err != nil {
		t.Fatal(err)
	}
	if fork.Context == nil || fork.Context.Number != 1 || !fork.Context.Dirty() {
		t.Fatalf("its pin is %+v", fork.Context)
	}
	r.send(fork.ID, "again", "")
	r.rest(fork.ID)
	if got, _ := asked.Load().(string); !strings.Contains(got, "Use tabs.") || strings.Contains(got, "Use spaces.") {
		t.Errorf("the copy has:\n%s", got)
	}
	// The mark goes from the copy too.
	r.push(r.found("AGENTS.md", "Use tabs."))
	if v := r.view(fork.ID); isDirty(v) {
		t.Errorf("still marked: %+v", v.Chat.Context)
	}
}

// TestWhatChangedIsShownBeforeItIsTaken: the texts of what was added, changed and removed since the pin, and the same view however often
// a page asks, until something changes.
func TestWhatChangedIsShownBeforeItIsTaken(t *testing.T) {
	r := withRoom(newRig(t, setup{place: true}))
	r.push(r.found("AGENTS.md", "Use tabs.", "CLAUDE.md", "Gone soon."))
	id := r.create("go")
	r.rest(id)
	shows := func(want ...string) {
		t.Helper()
		for range 2 {
			v, err := r.room.Chat(t.Context(), r.who, snapshot.ChatInput{ID: id})
			if err != nil || v.Newest == nil {
				t.Fatal(v, err)
			}
			var got []string
			for _, c := range v.Changes {
				got = append(got, string(c.Kind)+" "+path.Base(c.Resource.Source))
			}
			for _, it := range v.Items {
				if it.Payload != nil {
					t.Errorf("%s carries its content", it.Source)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("it shows %v, want %v", got, want)
			}
			// What one reader does to its view, the next does not see.
			clear(v.Items)
			clear(v.Changes)
		}
	}
	differs := func(want ...string) {
		t.Helper()
		all, err := r.room.Compare(t.Context(), r.who, snapshot.CompareInput{ID: id})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range all {
			got = append(got, fmt.Sprintf("%s: %s > %s", d.Kind, d.Was, d.Now))
		}
		if !slices.Equal(got, want) {
			t.Errorf("it differs %q, want %q", got, want)
		}
	}
	shows()
	differs()
	r.push(r.found("AGENTS.md", "Use spaces.", "skills/brew", "---\nname: brew\n---\nBoil."))
	shows("changed AGENTS.md", "added brew", "removed CLAUDE.md")
	differs("changed: Use tabs. > Use spaces.", "added:  > ---\nname: brew\n---\nBoil.", "removed: Gone soon. > ")
	r.push(r.found("AGENTS.md", "Use both.", "CLAUDE.md", "Gone soon."))
	shows("changed AGENTS.md")
	differs("changed: Use tabs. > Use both.")
	r.pin(id)
	shows()
	differs()
}
