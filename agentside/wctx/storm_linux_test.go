package wctx

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/engine/chat"
)

// TestTheFolderItselfIsMadeAgain: removed whole, then made again in one go or step by step, replaced by another, or mounted over: what is in it then
// is found, and its edits are seen.
func TestTheFolderItselfIsMadeAgain(t *testing.T) {
	top := tree(t, map[string]string{"w/AGENTS.md": "first", "w/skills/a/SKILL.md": skillFile("a"), "next/AGENTS.md": "replaced"})
	dir := filepath.Join(top, "w")
	m := running(t, Options{Dir: dir})
	m.SetReady()
	until(t, m, "the first", holdsText("first"))
	check(t, os.RemoveAll(dir))
	until(t, m, "nothing", func(s chat.Snapshot) bool { return s.Ready && len(s.Resources) == 0 && s.Error == "" })
	grow(t, dir, map[string]string{"AGENTS.md": "second", "skills/b/SKILL.md": skillFile("b")})
	until(t, m, "the second", holdsText("second"))
	until(t, m, "its skill", holdsText("does b"))
	grow(t, dir, map[string]string{"AGENTS.md": "edited"})
	until(t, m, "its edit", holdsText("edited"))
	// Another directory takes its place at once.
	check(t, unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, filepath.Join(top, "next"), unix.RENAME_EXCHANGE))
	until(t, m, "the other directory", holdsText("replaced"))
	grow(t, dir, map[string]string{"AGENTS.md": "edited there"})
	until(t, m, "an edit in it", holdsText("edited there"))
	// The one above goes, too.
	check(t, os.RemoveAll(top))
	until(t, m, "nothing", func(s chat.Snapshot) bool { return len(s.Resources) == 0 })
	grow(t, dir, map[string]string{"AGENTS.md": "third"})
	if _, err := m.Resync(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, m, "the third", holdsText("third"))
}

// TestAStorm: many names of skills and of instruction files change places at once, again and again. What is there at the end is what the
// Snapshot has, and each pass on the way had whole files.
func TestAStorm(t *testing.T) {
	files := map[string]string{"AGENTS.md": "round 0"}
	for i := range 60 {
		name := fmt.Sprintf("s%03d", i)
		files["skills/"+name+"/SKILL.md"] = skillFile(name)
	}
	dir := tree(t, files)
	m := running(t, Options{Dir: dir, Limits: Limits{Timing: Timing{Debounce: 1, Longest: 2}}})
	m.SetReady()
	until(t, m, "all skills", func(s chat.Snapshot) bool { return len(s.Resources) == 61 })
	var storm sync.WaitGroup
	for part := range 3 {
		storm.Go(func() {
			for round := range 10 {
				for i := part; i < 60; i += 3 {
					at := filepath.Join(dir, "skills", fmt.Sprintf("s%03d", i))
					for _, step := range []error{os.Rename(at, at+"-away"), os.WriteFile(at+"-away/tmp", []byte(skillFile(fmt.Sprintf("s%03d", i))+fmt.Sprint("round ", round)), 0o644),
						os.Rename(at+"-away/tmp", at+"-away/SKILL.md"), os.Rename(at+"-away", at)} {
						if step != nil {
							t.Error(step)
							return
						}
					}
				}
				if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), fmt.Appendf(nil, "round %d of %d", round, part), 0o644); err != nil {
					t.Error(err)
				}
			}
		})
	}
	storm.Wait()
	check(t, os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("calm"), 0o644))
	s := until(t, m, "the end of the storm", func(s chat.Snapshot) bool {
		last := holdsText("calm")(s) && len(s.Resources) == 61
		for _, r := range s.Resources {
			last = last && r.Status == chat.ResourceOK
		}
		return last
	})
	for _, r := range s.Resources {
		if r.Kind == chat.ResourceSkill && string(r.Payload) != skillFile(r.Name)+"round 9" {
			t.Errorf("%s has %q", r.Source, r.Payload)
		}
	}
}
