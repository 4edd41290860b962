package wctx

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/engine/chat"
)

func TestCase9SpecialFiles(t *testing.T) {
	dir := tree(t, map[string]string{"x": "", "CLAUDE.md": "-> pipe", "child/": "", "real/": "", ".cursorrules": "-> real", "skills/p/": ""})
	for _, name := range []string{"AGENTS.md", "pipe", "child/AGENTS.md", "skills/p/SKILL.md"} {
		check(t, unix.Mkfifo(filepath.Join(dir, name), 0o644))
	}
	l, err := net.Listen("unix", filepath.Join(dir, ".mcp.json"))
	check(t, err)
	defer l.Close()
	// A file system that waits for a writer would never come back.
	b := resolved(t, newResolver(t), root{path: dir, children: true}, root{path: dir + "/pipe"})
	wantSaid(t, b, dir, "invalid instruction_file AGENTS.md", "invalid instruction_file CLAUDE.md", "invalid instruction_file child/AGENTS.md", "invalid instruction_file .cursorrules",
		"invalid mcp_config .mcp.json", "invalid skill skills/p")
	for _, r := range b.resources {
		if r.ContentHash != (chat.Hash{}) || r.Error == "" {
			t.Errorf("%+v", r)
		}
	}
}

func TestAPipePutInThePlaceOfAFile(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "text"})
	r := newResolver(t)
	real := r.disk
	r.disk.open = func(top *os.Root, name string) (*os.File, error) {
		check(t, os.Remove(dir+"/AGENTS.md"))
		check(t, unix.Mkfifo(dir+"/AGENTS.md", 0o644))
		return real.open(top, name)
	}
	wantSaid(t, resolved(t, r, root{path: dir}), dir, "invalid instruction_file AGENTS.md")
}

func TestAHugeFileCostsLittle(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "head", "skills/big/SKILL.md": "---", ".mcp.json": "{"})
	for _, name := range []string{"AGENTS.md", "skills/big/SKILL.md", ".mcp.json"} {
		check(t, os.Truncate(filepath.Join(dir, name), 1<<30))
	}
	b := resolved(t, newResolver(t), root{path: dir})
	wantSaid(t, b, dir, "oversize instruction_file AGENTS.md", "oversize skill skills/big", "oversize mcp_config .mcp.json")
	before := map[string]chat.Hash{}
	for _, r := range b.resources {
		if r.SizeBytes != 1<<30 || r.Payload != nil {
			t.Errorf("%s: %d bytes, payload of %d", r.Source, r.SizeBytes, len(r.Payload))
		}
		before[r.Source] = r.ContentHash
	}
	// Case 17: an edit behind the cap is seen.
	for _, name := range []string{"AGENTS.md", "skills/big/SKILL.md", ".mcp.json"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
		check(t, err)
		_, err = f.WriteAt([]byte("x"), 100_000)
		check(t, err)
		check(t, f.Close())
	}
	for _, r := range resolved(t, newResolver(t), root{path: dir}).resources {
		if before[r.Source] == r.ContentHash {
			t.Errorf("%s: the edit is not seen", r.Source)
		}
	}
}

func TestAFileThatGrowsWhileItIsRead(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "small"})
	r := newResolver(t)
	r.caps.ResourceBytes = 10
	file, err := os.Open(dir + "/AGENTS.md")
	check(t, err)
	info, err := file.Stat()
	check(t, err)
	check(t, os.WriteFile(dir+"/AGENTS.md", []byte("much too large"), 0o644))
	c := readFile(file, info, 10)
	if c.status != chat.ResourceOversize || c.size != 14 || c.bytes != nil || c.hash != resolved(t, r, root{path: dir}).resources[0].ContentHash {
		t.Errorf("%+v", c)
	}
}

func Test600Skills(t *testing.T) {
	files := map[string]string{"AGENTS.md": "x", ".mcp.json": "{}"}
	for i := range 600 {
		files[fmt.Sprintf("skills/s%03d/SKILL.md", i)] = skillFile(fmt.Sprintf("s%03d", i))
	}
	dir := tree(t, files)
	server := chat.Resource{Kind: chat.ResourceMCPServer, Source: "files", Status: chat.ResourceOK, Tools: []chat.ResourceTool{{Name: "a", InputSchema: []byte("{}")}}}
	b, err := newResolver(t).resolve(t.Context(), []root{{path: dir}}, []chat.Resource{server})
	check(t, err)
	count := map[chat.ResourceStatus]int{}
	for _, r := range b.resources {
		count[r.Status]++
		if r.Status == chat.ResourceExcluded && (len(r.Payload) != 0 || len(r.Tools) != 0 || r.Error == "") {
			t.Errorf("%+v", r)
		}
	}
	if count[chat.ResourceOK] != 500 || count[chat.ResourceExcluded] != 103 || len(b.left) != 1 || b.left[0] != "103 resources left out: over 500" {
		t.Errorf("%v, %q", count, b.left)
	}
	if find(t, b.resources, "s498").Status != chat.ResourceOK || find(t, b.resources, "s499").Status != chat.ResourceExcluded || server.Tools == nil {
		t.Error("the order of the caps")
	}
}

func TestManySkillsAreCountedNotListed(t *testing.T) {
	dir := tree(t, map[string]string{"skills/": "", "children/": ""})
	for i := range 1110 {
		check(t, os.Mkdir(filepath.Join(dir, "skills", fmt.Sprintf("s%05d", i)), 0o755))
		check(t, os.WriteFile(filepath.Join(dir, "skills", fmt.Sprintf("s%05d", i), "SKILL.md"), nil, 0o644))
	}
	r := newResolver(t)
	r.caps.Entries = 1100
	b := resolved(t, r, root{path: dir})
	if len(b.resources) != chat.MaxListed || fmt.Sprint(b.left) != "[600 resources left out: over 500 100 resources left out: not even listed]" || len(b.problems) != 1 ||
		!strings.Contains(b.problems[0], "skills has more than 1100 entries") {
		t.Errorf("%d resources, %q, %q", len(b.resources), b.left, b.problems)
	}
	if b := resolved(t, r, root{path: dir + "/skills", children: true}); len(b.problems) != 1 {
		t.Errorf("%q", b.problems)
	}
}

// swap exchanges two names at once.
func swap(t *testing.T, a, b string) {
	t.Helper()
	check(t, unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE))
}

func TestALinkPutInThePlaceOfWhatWasLookedAt(t *testing.T) {
	for _, name := range []string{"AGENTS.md", "skills", "skills/brew", "skills/brew/SKILL.md", "child/AGENTS.md"} {
		for step := range 25 {
			outside := tree(t, map[string]string{"file": "SECRET", "skills/brew/SKILL.md": "SECRET", "brew/SKILL.md": "SECRET", "SKILL.md": "SECRET"})
			target := map[string]string{"skills": "/skills", "skills/brew": "/brew", "skills/brew/SKILL.md": "/SKILL.md"}[name]
			if target == "" {
				target = "/file"
			}
			dir := tree(t, map[string]string{"w/AGENTS.md": "text", "w/skills/brew/SKILL.md": skillFile("brew"), "w/child/AGENTS.md": "text", "trap": "-> " + outside + target})
			r := newResolver(t)
			real, n := r.disk, 0
			turn := func() {
				if n++; n == step {
					swap(t, filepath.Join(dir, "w", name), dir+"/trap")
				}
			}
			r.disk.lstat = func(top *os.Root, at string) (fs.FileInfo, error) { turn(); return real.lstat(top, at) }
			r.disk.open = func(top *os.Root, at string) (*os.File, error) { turn(); return real.open(top, at) }
			noSecret(t, resolved(t, r, root{path: dir + "/w", children: true}))
		}
	}
}

func noSecret(t *testing.T, b body) {
	t.Helper()
	for _, r := range b.resources {
		if strings.Contains(string(r.Payload), "SECRET") || r.ContentHash == chat.FileHash([]byte("SECRET")) || strings.Contains(r.Description+r.Error+r.Name, "SECRET") {
			t.Fatalf("what lies outside was read: %+v", r)
		}
	}
}

// TestCase6ARacingSwapper: what was looked at is not what is opened, 10,000 times.
func TestCase6ARacingSwapper(t *testing.T) {
	outside := tree(t, map[string]string{"SKILL.md": "SECRET", "brew/SKILL.md": "SECRET", "file": "SECRET"})
	dir := tree(t, map[string]string{"w/AGENTS.md": "text", "w/skills/brew/SKILL.md": skillFile("brew"), "trap/file": "-> " + outside + "/file", "trap/skills": "-> " + outside, "trap/brew": "-> " + outside})
	var swapping sync.WaitGroup
	defer swapping.Wait()
	stop := make(chan struct{})
	defer close(stop)
	for name, trap := range map[string]string{"w/AGENTS.md": "trap/file", "w/skills": "trap/skills"} {
		swapping.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, name), unix.AT_FDCWD, filepath.Join(dir, trap), unix.RENAME_EXCHANGE); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	seen := map[string]int{}
	r := newResolver(t)
	for range 10_000 {
		b := resolved(t, r, root{path: dir + "/w"})
		noSecret(t, b)
		for _, one := range said(b, dir) {
			seen[one]++
		}
	}
	t.Log(seen)
}
