package wctx

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// names and targets of which a fuzzed tree is made.
var (
	fuzzNames = []string{"AGENTS.md", "CLAUDE.md", ".cursorrules", ".mcp.json", "skills", "skills/a", "skills/a/SKILL.md", ".agents", ".agents/skills", ".agents/skills/b/SKILL.md", "child", "child/AGENTS.md",
		"docs", "docs/x", ".claude/skills", "skills/a/b"}
	fuzzTargets = []string{"AGENTS.md", "..", "../outside", "../outside/secret", ".", "skills", "../../w/docs/x", "docs/x", "docs/../../outside/skills", "a", "../skills/a", "ROOT/docs/x", "ROOT/../outside/secret",
		"ROOT-b/secret", "/", "nothing", "../outside/skills/a"}
	fuzzTexts = []string{"", "# Title\n", skillFile("a"), skillFile("b"), `{"mcpServers":{}}`, "{", strings.Repeat("x", 200), "\xff\xfe\x00"}
)

// fuzzTree makes what three bytes each say: a file, a directory or a link. What cannot be made is left out.
func fuzzTree(top string, script []byte) {
	w := filepath.Join(top, "w")
	for ; len(script) >= 3; script = script[3:] {
		name := filepath.Join(w, fuzzNames[int(script[1])%len(fuzzNames)])
		_ = os.MkdirAll(filepath.Dir(name), 0o755)
		switch script[0] % 4 {
		case 0:
			// Not through a link: what lies outside stays as it is.
			if f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
				_, _ = f.WriteString(fuzzTexts[int(script[2])%len(fuzzTexts)])
				_ = f.Close()
			}
		case 1:
			_ = os.Mkdir(name, 0o755)
		default:
			_ = os.Symlink(strings.ReplaceAll(fuzzTargets[int(script[2])%len(fuzzTargets)], "ROOT", w), name)
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add([]byte{0, 0, 1, 2, 1, 0, 2, 4, 8})
	f.Add([]byte{2, 4, 5, 2, 8, 2, 2, 0, 3, 2, 1, 12})
	f.Add([]byte{0, 6, 2, 2, 9, 16, 1, 0, 0, 0, 3, 5})
	f.Add([]byte{2, 12, 1, 2, 0, 7, 2, 5, 10, 2, 14, 14})
	f.Fuzz(func(t *testing.T, script []byte) {
		const secret = "SECRET"
		top := tree(t, map[string]string{"w/": "", "outside/secret": secret, "outside/skills/a/SKILL.md": skillFile("a") + secret, "outside/AGENTS.md": secret, "w-b/secret": secret})
		fuzzTree(top, script[:min(len(script), 60)])
		r := newResolver(t)
		r.caps.ResourceBytes = 150
		b := resolved(t, r, root{path: top + "/w", children: true}, root{path: top + "/w/skills", within: top + "/w", container: true})
		for i, res := range b.resources {
			if i > 0 && b.resources[i-1].ID() >= res.ID() {
				t.Errorf("not in order, or twice: %s", res.ID())
			}
			if (res.Status == chat.ResourceOK) == (res.Error != "") || !utf8.ValidString(res.Error) || !strings.HasPrefix(res.Source, top+"/w/") {
				t.Errorf("%+v", res)
			}
			if strings.Contains(string(res.Payload)+res.Error+res.Description, secret) || res.ContentHash == chat.FileHash([]byte(secret)) {
				t.Errorf("what lies outside was read: %+v", res)
			}
			if res.Status != chat.ResourceOK && len(res.Payload) > 0 || res.Kind == chat.ResourceMCPConfig && len(res.Payload) > 0 {
				t.Errorf("a payload too many: %+v", res)
			}
		}
		again := resolved(t, r, root{path: top + "/w", children: true}, root{path: top + "/w/skills", within: top + "/w", container: true})
		if chat.AggregateHash(again.resources) != chat.AggregateHash(b.resources) || !slices.Equal(said(again, top), said(b, top)) {
			t.Error("the same files give another body")
		}
		if set, err := r.surround(t.Context(), []root{{path: top + "/w", children: true}}); err != nil || slices.ContainsFunc(set.dirs, func(d string) bool { return strings.HasPrefix(d, top+"/outside") }) {
			t.Errorf("%v, %v", set.dirs, err)
		}
	})
}
