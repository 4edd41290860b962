package wctx

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/engine/chat"
)

func TestCase1OneInstructionFile(t *testing.T) {
	const text = "# Title\n\nSome text.\n"
	dir := tree(t, map[string]string{"AGENTS.md": text})
	b := resolved(t, newResolver(t), root{path: dir, children: true})
	if len(b.resources) != 1 || len(b.problems)+len(b.left) != 0 {
		t.Fatalf("%+v", b)
	}
	r := b.resources[0]
	if r.ID() != "instruction_file:"+dir+"/AGENTS.md" || r.Status != chat.ResourceOK || r.Description != "Title" || string(r.Payload) != text ||
		r.SizeBytes != int64(len(text)) || r.ContentHash != chat.FileHash([]byte(text)) || r.Error != "" || r.SourcePath != "" || b.payloadBytes != int64(len(text)) {
		t.Errorf("%+v", r)
	}
}

func TestCase2NamesAreExact(t *testing.T) {
	dir := tree(t, map[string]string{"agents.md": "no", "CLAUDE.md": "yes", "AGENTS.MD": "no", "skills/a/skill.md": skillFile("a")})
	wantSaid(t, resolved(t, newResolver(t), root{path: dir}), dir, "ok instruction_file CLAUDE.md")
	blind := newResolver(t)
	blind.disk = caseBlind()
	dir = tree(t, map[string]string{"agents.md": "no", "CLAUDE.md": "yes", "skills/a/skill.md": skillFile("a")})
	wantSaid(t, resolved(t, blind, root{path: dir, children: true}), dir, "ok instruction_file CLAUDE.md")
}

// caseBlind is a file system that takes names for one that differ in case.
func caseBlind() disk {
	d := realDisk()
	real := func(r *os.Root, name string) string {
		at := "."
		for _, part := range parts(name) {
			next := part
			if f, err := r.Open(at); err == nil {
				entries, _ := f.ReadDir(-1)
				f.Close()
				for _, e := range entries {
					if strings.EqualFold(e.Name(), part) {
						next = e.Name()
					}
				}
			}
			at = filepath.Join(at, next)
		}
		return at
	}
	return disk{lstat: func(r *os.Root, name string) (fs.FileInfo, error) { return d.lstat(r, real(r, name)) },
		open: func(r *os.Root, name string) (*os.File, error) { return d.open(r, real(r, name)) }}
}

func TestCase3SkillsOfTheContainers(t *testing.T) {
	dir := tree(t, map[string]string{"skills/a/SKILL.md": skillFile("a"), ".agents/skills/b/SKILL.md": skillFile("b"), ".claude/skills/c/SKILL.md": skillFile("c"),
		".codex/skills/d/SKILL.md": skillFile("d"), "pkg/skills/e/SKILL.md": skillFile("e"), "skills/deep/er/SKILL.md": skillFile("er"), "skills/SKILL.md": skillFile("skills"),
		"skills/file": "x", "skills/dir/SKILL.md/": ""})
	b := resolved(t, newResolver(t), root{path: dir, children: true})
	wantSaid(t, b, dir, "ok skill skills/a", "ok skill .agents/skills/b", "ok skill .claude/skills/c", "ok skill .codex/skills/d")
	a := find(t, b.resources, "/a")
	if a.Name != "a" || a.Description != "does a" || string(a.Payload) != skillFile("a") {
		t.Errorf("%+v", a)
	}
	// A root that is a container, by its name or by how it was seeded.
	wantSaid(t, resolved(t, newResolver(t), root{path: dir + "/pkg/skills"}), dir, "ok skill pkg/skills/e")
	grow(t, dir, map[string]string{"team/f/SKILL.md": skillFile("f")})
	wantSaid(t, resolved(t, newResolver(t), root{path: dir + "/team"}), dir)
	wantSaid(t, resolved(t, newResolver(t), root{path: dir + "/team", container: true}), dir, "ok skill team/f")
}

func TestCase4ChildProjects(t *testing.T) {
	dir := tree(t, map[string]string{"repo/AGENTS.md": "x", "repo/.mcp.json": "{}", "repo/skills/x/SKILL.md": skillFile("x"), ".hid/AGENTS.md": "x", "l": "-> repo",
		"repo/deep/AGENTS.md": "x", "plain/README.md": "x", "AGENTS.md": "top"})
	wantSaid(t, resolved(t, newResolver(t), root{path: dir, children: true}), dir, "ok instruction_file AGENTS.md", "ok instruction_file repo/AGENTS.md")
	wantSaid(t, resolved(t, newResolver(t), root{path: dir}), dir, "ok instruction_file AGENTS.md")
	// A child is a containment of its own.
	check(t, os.Symlink("../AGENTS.md", filepath.Join(dir, "plain/AGENTS.md")))
	wantSaid(t, resolved(t, newResolver(t), root{path: dir, children: true}), dir, "ok instruction_file AGENTS.md", "ok instruction_file repo/AGENTS.md",
		"invalid instruction_file plain/AGENTS.md")
}

func TestCase5TheFirst64Children(t *testing.T) {
	files := map[string]string{}
	for i := range 80 {
		name := "AGENTS.md"
		if i%8 == 7 {
			name = "README.md"
		}
		files[fmt.Sprintf("p%02d/%s", i, name)] = "x"
	}
	dir := tree(t, files)
	b := resolved(t, newResolver(t), root{path: dir, children: true})
	if len(b.resources) != 64 || b.resources[63].Source != dir+"/p72/AGENTS.md" || len(b.problems) != 0 {
		t.Errorf("%d, %+v, %q", len(b.resources), b.resources[len(b.resources)-1], b.problems)
	}
}

func TestCase6LinksOutOfTheRoot(t *testing.T) {
	const secret = "-----BEGIN PRIVATE KEY-----"
	outside := tree(t, map[string]string{"id_rsa": secret, "skill/SKILL.md": skillFile("x") + secret})
	dir := tree(t, map[string]string{"AGENTS.md": "-> " + outside + "/id_rsa", "CLAUDE.md": "-> a/b/../../../../../../../../../../../" + outside + "/id_rsa", "a/b/": "",
		".mcp.json": "-> " + outside + "/id_rsa", "skills/x/SKILL.md": "-> " + outside + "/skill/SKILL.md", "skills/y": "-> " + outside + "/skill", ".cursorrules": "-> next",
		"next": "-> " + outside + "/id_rsa", "loop1": "-> loop2", "loop2": "-> loop1", "sub/AGENTS.md": "-> ../loop1", "skills/z/SKILL.md": "-> ../../loop1", "skills/gone": "-> nowhere"})
	b := resolved(t, newResolver(t), root{path: dir, children: true})
	wantSaid(t, b, dir, "invalid instruction_file AGENTS.md", "invalid instruction_file CLAUDE.md", "invalid instruction_file .cursorrules", "invalid mcp_config .mcp.json",
		"invalid skill skills/x", "invalid skill skills/y", "unreadable skill skills/z", "unreadable skill skills/gone", "invalid instruction_file sub/AGENTS.md")
	for _, r := range b.resources {
		if r.ContentHash != (chat.Hash{}) || r.SizeBytes != 0 || len(r.Payload) != 0 || r.Error == "" || strings.Contains(fmt.Sprintf("%+v", r), "BEGIN") {
			t.Errorf("%+v", r)
		}
	}
}

func TestCase7AContainerThatLeadsOut(t *testing.T) {
	outside := tree(t, map[string]string{"s/SKILL.md": skillFile("s")})
	dir := tree(t, map[string]string{".agents/skills": "-> " + outside, ".claude": "-> " + outside + "/..", "inner/t/SKILL.md": skillFile("t"), "skills": "-> inner", ".codex/skills": "-> ../inner"})
	b := resolved(t, newResolver(t), root{path: dir})
	// Two names of one directory are one container.
	wantSaid(t, b, dir, "ok skill skills/t")
	if len(b.problems) != 2 || !strings.Contains(b.problems[0], ".agents/skills are not read: the link leads outside") {
		t.Errorf("%q", b.problems)
	}
}

func TestCase8LinksToOneFile(t *testing.T) {
	dir := tree(t, map[string]string{"w/AGENTS.md": "one", "w/CLAUDE.md": "-> AGENTS.md", "l": "-> w"})
	check(t, os.Symlink(filepath.Join(dir, "l", "AGENTS.md"), filepath.Join(dir, "w", ".cursorrules")))
	for _, path := range []string{"w", "l"} {
		r := root{path: filepath.Join(dir, path), sourcePath: filepath.Join(dir, path)}
		b := resolved(t, newResolver(t), r)
		if path == "w" {
			// The absolute link names another way to the root than the one that was taken.
			wantSaid(t, b, dir, "ok instruction_file w/AGENTS.md", "invalid instruction_file w/.cursorrules")
			continue
		}
		wantSaid(t, b, dir, "ok instruction_file w/AGENTS.md")
		if b.resources[0].SourcePath != dir+"/l" {
			t.Errorf("%+v", b.resources[0])
		}
	}
	// Path-aware: /a-b is not inside /a.
	grow(t, dir, map[string]string{"a/x": "", "a-b/AGENTS.md": "no", "a/AGENTS.md": "-> " + dir + "/a-b/AGENTS.md", "a/CLAUDE.md": "-> " + dir + "/a/./guide.md", "a/guide.md": "guide"})
	wantSaid(t, resolved(t, newResolver(t), root{path: dir + "/a"}), dir, "invalid instruction_file a/AGENTS.md", "ok instruction_file a/guide.md")
}

func TestCase10Sizes(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": strings.Repeat("a", 65536), "CLAUDE.md": strings.Repeat("a", 65537), "skills/s/SKILL.md": strings.Repeat("a", 65537)})
	b := resolved(t, newResolver(t), root{path: dir})
	wantSaid(t, b, dir, "ok instruction_file AGENTS.md", "oversize instruction_file CLAUDE.md", "oversize skill skills/s")
	big := find(t, b.resources, "CLAUDE.md")
	if big.SizeBytes != 65537 || big.Payload != nil || big.Error == "" || big.ContentHash.String() != "a15cfc2c3d1e94602d8da1413f3bfe22e6601b26dfcd898044e8d41cab296247" {
		t.Errorf("%+v", big)
	}
}

func TestCase11ByteCap(t *testing.T) {
	dir := tree(t, map[string]string{"a/AGENTS.md": "12345", "b/AGENTS.md": "1234", "c/AGENTS.md": "abcd", "d/AGENTS.md": ""})
	r := newResolver(t)
	r.caps.SnapshotBytes = 9
	b := resolved(t, r, root{path: dir, children: true})
	wantSaid(t, b, dir, "ok instruction_file a/AGENTS.md", "ok instruction_file b/AGENTS.md", "excluded instruction_file c/AGENTS.md", "ok instruction_file d/AGENTS.md")
	c := find(t, b.resources, "c/AGENTS.md")
	if c.Payload != nil || c.ContentHash != chat.FileHash([]byte("abcd")) || c.SizeBytes != 4 || c.Error == "" || b.payloadBytes != 9 || len(b.left) != 1 ||
		b.left[0] != "1 resource left out: over 9 bytes" {
		t.Errorf("%+v, %d, %q", c, b.payloadBytes, b.left)
	}
	// A later smaller one may fit.
	r.caps.SnapshotBytes = 5
	check(t, os.WriteFile(dir+"/a/AGENTS.md", []byte("1"), 0o644))
	check(t, os.WriteFile(dir+"/b/AGENTS.md", []byte("too much"), 0o644))
	wantSaid(t, resolved(t, r, root{path: dir, children: true}), dir, "ok instruction_file a/AGENTS.md", "excluded instruction_file b/AGENTS.md", "ok instruction_file c/AGENTS.md",
		"ok instruction_file d/AGENTS.md")
}

func TestCase13SecretsOfAConfig(t *testing.T) {
	config := `{"mcpServers":{"a":{"command":"x","env":{"TOKEN":"hunter2-sk"}}}}`
	dir := tree(t, map[string]string{".mcp.json": config})
	b := resolved(t, newResolver(t), root{path: dir})
	wantSaid(t, b, dir, "ok mcp_config .mcp.json")
	r := b.resources[0]
	if r.Payload != nil || r.SizeBytes != int64(len(config)) || r.ContentHash == (chat.Hash{}) || r.ContentHash == chat.FileHash([]byte(config)) || strings.Contains(fmt.Sprintf("%+v", b), "hunter2") {
		t.Errorf("%+v", r)
	}
	other := newResolver(t)
	other.key = []byte("another")
	if again := resolved(t, other, root{path: dir}); again.resources[0].ContentHash == r.ContentHash {
		t.Error("the hash does not depend on the key")
	}
	for text, want := range map[string]string{`{}`: "ok", `{"mcpServers":{}}`: "ok", `{"mcpServers":null}`: "ok", `{"mcpServers":{"a":{}}}`: "ok", `{"mcpServers":{"a":1}}`: "invalid",
		`{"mcpServers":{"a":null}}`: "invalid", `{"mcpServers":[]}`: "invalid", `{"mcpServers":{"sk-hunter2"`: "invalid", `[]`: "invalid", `null`: "invalid", ``: "invalid", `{"MCPServers":1}`: "ok"} {
		check(t, os.WriteFile(dir+"/.mcp.json", []byte(text), 0o644))
		got := resolved(t, newResolver(t), root{path: dir}).resources[0]
		if string(got.Status) != want || got.ContentHash == (chat.Hash{}) || want != "ok" && got.Error == "" || strings.Contains(got.Error, "hunter2") {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestCase14AWiderRootRepairs(t *testing.T) {
	dir := tree(t, map[string]string{"w/.agents/skills/brew": "-> ../../../shared/brew", "shared/brew/SKILL.md": skillFile("brew"), "w/AGENTS.md": "-> ../guide.md", "guide.md": "x"})
	narrow := root{path: dir + "/w", sourcePath: dir + "/w"}
	wantSaid(t, resolved(t, newResolver(t), narrow), dir, "invalid skill w/.agents/skills/brew", "invalid instruction_file w/AGENTS.md")
	// The link itself is read again from a root that holds its target: the file root stands in the directory of the link.
	grow(t, dir, map[string]string{"x/AGENTS.md": "-> ../guide.md"})
	list := unique([]item{{Resource: chat.Resource{Kind: "skill", Source: "/s", Status: "invalid", Error: "e"}}, {Resource: chat.Resource{Kind: "skill", Source: "/s", Status: "ok"}, root: 1},
		{Resource: chat.Resource{Kind: "skill", Source: "/s", Status: "ok", Name: "late"}, root: 2}, {Resource: chat.Resource{Kind: "plugin", Source: "/s", Status: "ok"}}})
	if len(list) != 2 || list[0].Status != "ok" || list[0].root != 1 || list[0].Error != "" {
		t.Errorf("%+v", list)
	}
}

func TestCase15OneNameTwice(t *testing.T) {
	dir := tree(t, map[string]string{"w/skills/brew/SKILL.md": skillFile("brew"), "own/skills/brew/SKILL.md": skillFile("brew"), "bad/skills/brew/SKILL.md": "no front matter"})
	b := resolved(t, newResolver(t), root{path: dir + "/bad", sourcePath: dir + "/bad"}, root{path: dir + "/own", sourcePath: dir + "/own"}, root{path: dir + "/w", children: true})
	wantSaid(t, b, dir, "invalid skill bad/skills/brew", "ok skill own/skills/brew", "invalid skill w/skills/brew")
	if w := find(t, b.resources, "w/skills/brew"); !strings.Contains(w.Error, dir+"/own/skills/brew") || w.Payload != nil || w.ContentHash == (chat.Hash{}) {
		t.Errorf("%+v", w)
	}
}

func TestRootsThatAreFilesOrMissing(t *testing.T) {
	dir := tree(t, map[string]string{"guide/AGENTS.md": "x", "guide/notes.txt": "x", "brew/SKILL.md": skillFile("brew"), "secret": "key", "trap/CLAUDE.md": "-> ../secret",
		"config/.mcp.json": "{}", "in/CLAUDE.md": "-> real.md", "in/real.md": "x", "gone/AGENTS.md": "-> nothing"})
	b := resolved(t, newResolver(t), root{path: dir + "/guide/AGENTS.md"}, root{path: dir + "/guide/notes.txt"}, root{path: dir + "/brew/SKILL.md"}, root{path: dir + "/trap/CLAUDE.md"},
		root{path: dir + "/config/.mcp.json"}, root{path: dir + "/nowhere"}, root{path: dir + "/nowhere/AGENTS.md"}, root{path: dir + "/in/CLAUDE.md"}, root{path: dir + "/gone/AGENTS.md"},
		root{path: dir + "/secret/AGENTS.md"})
	wantSaid(t, b, dir, "ok instruction_file guide/AGENTS.md", "ok skill brew", "invalid instruction_file trap/CLAUDE.md", "ok mcp_config config/.mcp.json", "ok instruction_file in/real.md",
		"unreadable instruction_file gone/AGENTS.md")
	if len(b.problems) != 0 {
		t.Errorf("%q", b.problems)
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x", "skills/a/SKILL.md": skillFile("a"), "closed/AGENTS.md": "x", "CLAUDE.md/": ""})
	r := newResolver(t)
	real := r.disk
	r.disk.open = func(top *os.Root, name string) (*os.File, error) {
		if strings.HasSuffix(name, "AGENTS.md") || name == "skills" {
			return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
		}
		return real.open(top, name)
	}
	b := resolved(t, r, root{path: dir, children: true})
	wantSaid(t, b, dir, "unreadable instruction_file AGENTS.md", "unreadable instruction_file closed/AGENTS.md")
	if a := find(t, b.resources, dir+"/AGENTS.md"); a.SizeBytes != 1 || a.Error != "permission denied" {
		t.Errorf("%+v", a)
	}
	if len(b.problems) != 1 || !strings.Contains(b.problems[0], "skills cannot be read: permission denied") {
		t.Errorf("%q", b.problems)
	}
	r.disk.open = real.open
	r.disk.lstat = func(*os.Root, string) (fs.FileInfo, error) { return nil, syscall.EACCES }
	if b := resolved(t, r, root{path: dir}); len(b.resources) != 0 || len(b.problems) == 0 {
		t.Errorf("%+v", b)
	}
}

func TestNamesOfTheEnvironment(t *testing.T) {
	env := map[string]string{"HOLDFAST_CONTEXT_INSTRUCTIONS_FILE": "HOUSE.md", "HOLDFAST_CONTEXT_SKILL_META_FILE": "meta.md"}
	dir := tree(t, map[string]string{"HOUSE.md": "x", "AGENTS.md": "x", "skills/a/meta.md": skillFile("a"), "skills/b/SKILL.md": skillFile("b")})
	m := New(Options{Dir: dir, Getenv: func(name string) string { return env[name] }})
	wantSaid(t, resolved(t, m.resolver, root{path: dir}), dir, "ok instruction_file AGENTS.md", "ok instruction_file HOUSE.md", "ok skill skills/a")
	for _, bad := range []string{"../x", "a/b", ".", "..", `a\b`} {
		env["HOLDFAST_CONTEXT_INSTRUCTIONS_FILE"], env["HOLDFAST_CONTEXT_SKILL_META_FILE"] = bad, bad
		if n := New(Options{Getenv: func(name string) string { return env[name] }}).resolver.names; len(n.instructions) != 3 || n.skill != "SKILL.md" {
			t.Errorf("%q: %+v", bad, n)
		}
	}
}

func TestOddPaths(t *testing.T) {
	long := strings.Repeat("d", 250)
	dir := tree(t, map[string]string{"a\xff\xfeb/AGENTS.md": "x", "ä/AGENTS.md": "x"})
	b := resolved(t, newResolver(t), root{path: dir, children: true})
	wantSaid(t, b, dir, `ok instruction_file a\xff\xfeb/AGENTS.md`, "ok instruction_file ä/AGENTS.md")
	deep := filepath.Join(dir, long, long, long, long, long)
	grow(t, deep, map[string]string{"AGENTS.md": "x"})
	b = resolved(t, newResolver(t), root{path: deep})
	if len(b.resources) != 0 || len(b.left) != 1 || !strings.Contains(b.left[0], "1 resource left out: with a path over 1024 bytes") {
		t.Errorf("%+v", b)
	}
}

func TestCancelledResolveGivesNothing(t *testing.T) {
	dir := tree(t, map[string]string{"AGENTS.md": "x", "c/AGENTS.md": "x", "skills/a/SKILL.md": skillFile("a")})
	for step := range 12 {
		ctx, cancel := context.WithCancel(t.Context())
		b, err := func() (body, error) {
			defer cancel()
			r := newResolver(t)
			real := r.disk
			n := 0
			r.disk.lstat = func(top *os.Root, name string) (fs.FileInfo, error) {
				if n++; n > step {
					cancel()
				}
				return real.lstat(top, name)
			}
			return r.resolve(ctx, []root{{path: dir, children: true}, {path: dir + "/c"}}, nil)
		}()
		if err == nil || !errors.Is(err, ctx.Err()) || b.resources != nil {
			t.Errorf("after %d looks: %v, %+v", step, err, b)
		}
	}
}
