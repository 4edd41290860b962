package files

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"

	"holdfast/engine/chat"
)

// Protected paths decide what runs, or what a model is told, without anybody looking: a change of them is never a mere edit.
// Names are compared as the file system does, directories cover all below them.
var (
	// protectedAnywhere are names at any depth: what reads them looks in every repository and every directory it enters.
	protectedAnywhere = []string{
		".mcp.json", "AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules", ".windsurfrules",
		".clinerules", ".cursor", ".github/copilot-instructions.md", ".github/instructions", ".envrc", ".vscode", ".idea", ".holdfast",
		"plugin.json", ".husky", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".claude/commands",
		".claude/agents", ".codex/config.toml", ".gemini/settings.json",
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
		".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".config/fish",
		".git/config", ".git/config.worktree", ".git/hooks", ".git/modules", ".git/worktrees", ".git/commondir",
		".git/rebase-merge", ".git/rebase-apply", ".git/sequencer",
		".agents/skills", ".claude/skills", ".codex/skills", ".agents/plugins", ".claude/plugins", ".codex/plugins",
	}
	// protectedTop are names in the Workspace's directory itself; deeper they are ordinary.
	protectedTop = []string{"skills"}
	// planFile is where a Chat's plan stands; it decides nothing, and a person is shown it before anything follows from it.
	planFile = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\.holdfast/plans/PLAN-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.md$`)
	})
	// instructionNames may be links in the Workspace's directory; what they lead to is as protected as they are.
	instructionNames = []string{"AGENTS.md", "CLAUDE.md", ".cursorrules", ".mcp.json", ".envrc"}
)

// isGuarded: the place is protected by its real name, by the name of a link that led to it, or by being what a protected name leads to.
func (f *Files) isGuarded(p *place) bool {
	if p.temp {
		return false
	}
	for _, name := range append([]string{p.rel}, p.links...) {
		if f.isProtected(filepath.ToSlash(name)) {
			return true
		}
	}
	for _, name := range instructionNames {
		if target := p.leadsTo(name); target != "" && target == p.rel {
			return true
		}
	}
	return false
}

func protected(p *place) *chat.FileError {
	return refuse("protected", p.shown,
		"%s is protected: it decides what runs or what agents are told, so a person has to agree first, and nobody did. Nothing was changed.", p.name())
}

// leadsTo is the real name behind a link in the root, "" when name is no link or leads nowhere.
func (p *place) leadsTo(name string) string {
	info, err := p.root.Lstat(name)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		return ""
	}
	link := &place{root: p.root, dir: p.dir, shown: name}
	if link.follow(name) != nil {
		return ""
	}
	return link.rel
}

func (f *Files) isProtected(name string) bool {
	// A .git that is a file names the repository elsewhere, with that one's hooks.
	if f.same(path.Base(name), ".git") {
		return true
	}
	if planFile().MatchString(name) {
		return false
	}
	for _, top := range protectedTop {
		if f.covers(top, name) {
			return true
		}
	}
	for rest := name; rest != ""; {
		for _, p := range protectedAnywhere {
			if f.covers(p, rest) {
				return true
			}
		}
		_, rest, _ = strings.Cut(rest, "/")
	}
	return false
}

// covers: name is pattern or lies below it.
func (f *Files) covers(pattern, name string) bool {
	for pattern != "" {
		var want, have string
		want, pattern, _ = strings.Cut(pattern, "/")
		have, name, _ = strings.Cut(name, "/")
		if !f.same(want, have) {
			return false
		}
	}
	return true
}

func (f *Files) same(a, b string) bool {
	return a == b || f.foldsCase && strings.EqualFold(a, b)
}

// foldsCase finds out whether the file system of dir takes names that differ only in case for one.
func foldsCase(dir string) bool {
	for at := dir; ; {
		up, base := filepath.Dir(at), filepath.Base(at)
		if up == at {
			return runtime.GOOS == "darwin" || runtime.GOOS == "windows"
		}
		if other := swapCase(base); other != base {
			a, errA := os.Lstat(at)
			b, errB := os.Lstat(filepath.Join(up, other))
			return errA == nil && errB == nil && os.SameFile(a, b)
		}
		at = up
	}
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

// inRepository: below a .git only its own names are protected.
func inRepository(dir string) bool { return path.Base(dir) == ".git" }

// maxProtected bounds how many names Protected looks at.
const maxProtected = 4000

// Protected gives what is protected and there, for those who keep commands from it: in the Workspace's directory, and as far
// below as few enough names are looked at, nearer ones first. What is big, and holds what others wrote, is not looked into.
func (f *Files) Protected() []string {
	var found []string
	looked := 0
	for level := []string{"."}; len(level) > 0; {
		var next []string
		for _, dir := range level {
			entries, err := os.ReadDir(filepath.Join(f.dir, dir))
			if err != nil {
				continue
			}
			for _, e := range entries {
				name := path.Join(dir, e.Name())
				if looked++; looked > maxProtected {
					return found
				}
				repository := e.IsDir() && f.same(e.Name(), ".git")
				if f.isProtected(name) && !repository {
					found = append(found, name)
				} else if repository || e.IsDir() && !slices.Contains(skippedDirs, e.Name()) && !inRepository(dir) {
					next = append(next, name)
				}
			}
		}
		level = next
	}
	return found
}
