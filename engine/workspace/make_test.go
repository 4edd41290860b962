package workspace

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
)

func ptr[T any](v T) *T { return &v }

// template adds a Template.
func (s *stand) template(t *testing.T, f chat.TemplateFields) chat.Template {
	t.Helper()
	out, err := s.CreateTemplate(t.Context(), admin, CreateTemplateInput{f})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// made makes a Workspace and waits for what becomes of it.
func (s *stand) made(t *testing.T, in MakeInput) (chat.WorkspaceRecord, string) {
	t.Helper()
	w, err := s.Make(t.Context(), admin, in)
	if err != nil {
		t.Fatal(err)
	}
	if w.State != chat.WorkspaceCreating || w.UsedAt.IsZero() {
		t.Errorf("at once: %+v", w)
	}
	var said strings.Builder
	if w, err = s.room.Build(t.Context(), w.ID, BuildOptions{Log: func(text string) { said.WriteString(text) }}); err != nil {
		t.Fatal(err)
	}
	return w, said.String()
}

// repository makes a repository with a file, a hook that would run, and a branch.
func repository(t *testing.T) string {
	t.Helper()
	dir := folder(t, "source")
	gitIn(t, dir, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hook := filepath.Join(dir, ".git", "hooks", "post-checkout")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch \"$(git rev-parse --show-toplevel)/hooked\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "-q", "-m", "first")
	gitIn(t, dir, "branch", "fix/login")
	return dir
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func content(t *testing.T, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func TestMakeADirectory(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	tpl := s.template(t, chat.TemplateFields{Name: ptr("shop"), Kind: ptr(chat.TemplateDirectory), Source: &dir, Policy: ptr(chat.PolicyTrusted)})
	w, _ := s.made(t, MakeInput{TemplateID: tpl.ID})
	if w.State != chat.WorkspaceRunning || w.Directory != dir || w.Name != "shop" || !w.Trusted || w.Made.TemplateID != tpl.ID {
		t.Errorf("%+v", w)
	}
	again, _ := s.made(t, MakeInput{TemplateID: tpl.ID})
	if again.Name != "shop-2" || again.Directory != dir {
		t.Errorf("%+v", again)
	}
	if _, err := s.Delete(t.Context(), admin, DeleteInput{ID: w.ID}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func TestMakeAClone(t *testing.T) {
	s := standing(t)
	source, parent := repository(t), folder(t, "made")
	tpl := s.template(t, chat.TemplateFields{Name: ptr("Tide tables"), Kind: ptr(chat.TemplateClone), Source: &source, Directory: &parent})
	w, _ := s.made(t, MakeInput{TemplateID: tpl.ID, Branch: "fix/login"})
	if w.State != chat.WorkspaceRunning || w.Directory != filepath.Join(parent, "Tide-tables") || w.Trusted {
		t.Fatalf("%+v", w)
	}
	if got := content(t, w.Directory, "a.txt"); got != "one\n" || gitIn(t, w.Directory, "branch", "--show-current") != "fix/login" {
		t.Errorf("%q on %s", got, gitIn(t, w.Directory, "branch", "--show-current"))
	}
	if _, err := os.Stat(filepath.Join(w.Directory, "hooked")); err == nil {
		t.Error("a hook ran")
	}
	if second, _ := s.made(t, MakeInput{TemplateID: tpl.ID}); second.Directory != w.Directory+"-2" || second.Name != "Tide tables-2" {
		t.Errorf("%+v", second)
	}
	none, said := s.made(t, MakeInput{TemplateID: tpl.ID, Branch: "no-such"})
	if none.State != chat.WorkspaceSetupFailed || !strings.Contains(none.Made.Log, "no-such") || !strings.Contains(said, "git clone failed") || none.Directory != "" {
		t.Errorf("%+v, said %q", none, said)
	}
	if list, err := os.ReadDir(parent); err != nil || len(list) != 2 {
		t.Errorf("left behind: %v, %v", list, err)
	}
	if _, err := s.room.Open(t.Context(), none.ID); kind(err) != chat.KindWrongState {
		t.Errorf("opened: %v", err)
	}
	bundle := filepath.Join(t.TempDir(), "all.bundle")
	gitIn(t, source, "bundle", "create", "-q", bundle, "--all")
	other := s.template(t, chat.TemplateFields{Name: ptr("bundle"), Kind: ptr(chat.TemplateClone), Source: &bundle, Directory: &parent})
	if b, _ := s.made(t, MakeInput{TemplateID: other.ID, Branch: "main"}); b.State != chat.WorkspaceRunning || content(t, b.Directory, "a.txt") != "one\n" {
		t.Errorf("%+v", b)
	}
}

// Case 16: a branch with a slash; dirty at removal asks and keeps all.
func TestMakeAWorktree(t *testing.T) {
	s := standing(t)
	source, parent := repository(t), folder(t, "made")
	tpl := s.template(t, chat.TemplateFields{Name: ptr("tide"), Kind: ptr(chat.TemplateWorktree), Source: &source, Directory: &parent})
	w, _ := s.made(t, MakeInput{TemplateID: tpl.ID, Branch: "feature/moon"})
	if w.State != chat.WorkspaceRunning || w.Made.Branch != "holdfast/feature/moon" || gitIn(t, w.Directory, "branch", "--show-current") != "holdfast/feature/moon" {
		t.Fatalf("%+v", w)
	}
	if _, err := os.Stat(filepath.Join(w.Directory, "hooked")); err == nil {
		t.Error("a hook ran")
	}
	named, _ := s.made(t, MakeInput{TemplateID: tpl.ID, Name: "a/b"})
	if named.Made.Branch != "holdfast/a/b" || named.Directory != filepath.Join(parent, "a-b") {
		t.Errorf("%+v", named)
	}
	from, _ := s.made(t, MakeInput{TemplateID: tpl.ID, Branch: "fix/login"})
	if from.Made.Branch != "holdfast/tide-2" || from.State != chat.WorkspaceRunning {
		t.Errorf("%+v", from)
	}
	file := filepath.Join(w.Directory, "new.txt")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), admin, DeleteInput{ID: w.ID}); kind(err) != chat.KindWrongState || content(t, file) != "mine" {
		t.Errorf("dirty: %v", err)
	}
	if _, err := s.Get(t.Context(), admin, GetInput{w.ID}); err != nil {
		t.Errorf("it is gone: %v", err)
	}
	// A .git that a command has turned elsewhere is not followed, and asks as well.
	if err := os.WriteFile(filepath.Join(named.Directory, ".git"), []byte("gitdir: /nowhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), admin, DeleteInput{ID: named.ID}); kind(err) != chat.KindWrongState {
		t.Errorf("turned: %v", err)
	}
	if _, err := s.Delete(t.Context(), admin, DeleteInput{ID: named.ID, Files: "keep"}); err != nil || content(t, named.Directory, "a.txt") != "one\n" {
		t.Errorf("kept: %v", err)
	}
	if _, err := s.Delete(t.Context(), admin, DeleteInput{ID: from.ID}); err != nil {
		t.Errorf("clean: %v", err)
	}
	if _, err := os.Stat(from.Directory); err == nil {
		t.Error("a clean worktree is still there")
	}
	if _, err := s.Delete(t.Context(), admin, DeleteInput{ID: w.ID, Files: "discard"}); err != nil {
		t.Errorf("discarded: %v", err)
	}
	if _, err := os.Stat(w.Directory); err == nil {
		t.Error("a discarded worktree is still there")
	}
	if branches := gitIn(t, source, "branch", "--list", "holdfast/*"); !strings.Contains(branches, "holdfast/feature/moon") {
		t.Errorf("branches: %s", branches)
	}
}

// The second half of case 15: a failed setup keeps the Workspace with its log, and is run again.
func TestSetupFailsAndIsTriedAgain(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	tpl := s.template(t, chat.TemplateFields{Name: ptr("shop"), Kind: ptr(chat.TemplateDirectory), Source: &dir, Variables: map[string]string{"WHO": "it's me"},
		Setup: ptr("echo begins for $WHO; test -e ready || exit 3; echo whole > done")})
	w, said := s.made(t, MakeInput{TemplateID: tpl.ID})
	if w.State != chat.WorkspaceSetupFailed || said != w.Made.Log+"\n" && !strings.Contains(w.Made.Log, "begins for it's me") ||
		!strings.Contains(w.Made.Log, "exit code 3") || !strings.Contains(said, "begins for it's me") {
		t.Fatalf("%+v\nsaid %q", w, said)
	}
	// What is there can be used.
	if _, err := s.room.Open(t.Context(), w.ID); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(t.Context(), admin, StartInput{w.ID}); err != nil {
		t.Fatal(err)
	}
	s.room.joined.Wait()
	if got, err := s.Get(t.Context(), admin, GetInput{w.ID}); err != nil || got.State != chat.WorkspaceRunning || content(t, dir, "done") != "whole\n" {
		t.Errorf("%+v, %v", got, err)
	}
	place, err := s.room.Open(t.Context(), w.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := place.Processes().Start(t.Context(), chat.ProcessStart{ID: "p", ChatID: "c2", Command: "printenv WHO"}); err != nil {
		t.Fatal(err)
	}
	if out, err := place.Processes().Output(t.Context(), "c2", "p", 0, time.Minute); err != nil || out.Output != "it's me\n" {
		t.Errorf("a command has %q, %v", out.Output, err)
	}
	if list, err := place.Processes().List(t.Context(), "c1"); err != nil || len(list) != 0 {
		t.Errorf("a chat sees %v, %v", list, err)
	}
}

// TestASetupIsBoundedByTheSite where its place knows of no bound, as one beside an agent: what starts it says how long it may run.
func TestASetupIsBoundedByTheSite(t *testing.T) {
	s := standing(t)
	s.room.BoundBy(func() time.Duration { return time.Millisecond })
	dir := folder(t, "shop")
	tpl := s.template(t, chat.TemplateFields{Name: ptr("slow"), Kind: ptr(chat.TemplateDirectory), Source: &dir, Setup: ptr("sleep 1000")})
	if w, _ := s.made(t, MakeInput{TemplateID: tpl.ID}); w.State != chat.WorkspaceSetupFailed || !strings.Contains(w.Made.Log, "It ran longer than the 1ms it was given, and was ended.") {
		t.Errorf("%+v", w)
	}
}

func TestSetupIsCutOff(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	limit := int64(1)
	tpl := s.template(t, chat.TemplateFields{Name: ptr("slow"), Kind: ptr(chat.TemplateDirectory), Source: &dir, Setup: ptr("sleep 1000"), SetupTimeoutMS: &limit})
	if w, _ := s.made(t, MakeInput{TemplateID: tpl.ID}); w.State != chat.WorkspaceSetupFailed || !strings.Contains(w.Made.Log, "longer than 1ms") {
		t.Errorf("%+v", w)
	}
	never := s.template(t, chat.TemplateFields{Name: ptr("never"), Kind: ptr(chat.TemplateDirectory), Source: &dir, Setup: ptr("echo up; sleep 1000")})
	w, err := s.Make(t.Context(), admin, MakeInput{TemplateID: never.ID})
	if err != nil {
		t.Fatal(err)
	}
	for now := w; now.State != chat.WorkspaceSetup; runtime.Gosched() {
		if now, err = s.Get(t.Context(), admin, GetInput{w.ID}); err != nil {
			t.Fatal(err)
		}
	}
	s.room.Close()
	if got, err := s.Get(t.Context(), admin, GetInput{w.ID}); err != nil || got.State != chat.WorkspaceSetupFailed {
		t.Errorf("after the stop: %+v, %v", got, err)
	}
}

// The first half of case 15: whoever builds at once builds the same, once.
func TestBuildAtOnce(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	tpl := s.template(t, chat.TemplateFields{Name: ptr("shop"), Kind: ptr(chat.TemplateDirectory), Source: &dir, Setup: ptr("echo once >> log")})
	w, err := s.Make(t.Context(), admin, MakeInput{TemplateID: tpl.ID})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got, err := s.room.Build(context.Background(), w.ID, BuildOptions{Log: func(string) {}}); err != nil || got.State != chat.WorkspaceRunning {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	all.Wait()
	if got := content(t, dir, "log"); got != "once\n" {
		t.Errorf("setup ran: %q", got)
	}
}

func TestWhoMayUseATemplate(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	f := chat.TemplateFields{Name: ptr("shop"), Kind: ptr(chat.TemplateDirectory), Source: &dir, Setup: ptr("secret command")}
	tpl := s.template(t, f)
	if list, err := s.ListTemplates(t.Context(), demoted, ListTemplatesInput{}); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	for what, err := range map[string]error{
		"get":  func() error { _, err := s.GetTemplate(t.Context(), demoted, GetTemplateInput{tpl.ID}); return err }(),
		"make": func() error { _, err := s.Make(t.Context(), demoted, MakeInput{TemplateID: tpl.ID}); return err }(),
		"model": func() error {
			_, err := s.Make(t.Context(), admin, MakeInput{TemplateID: tpl.ID, ForModel: true})
			return err
		}(),
	} {
		if kind(err) != chat.KindNotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.Make(t.Context(), readOnly, MakeInput{TemplateID: tpl.ID}); kind(err) != chat.KindForbidden {
		t.Errorf("a reader makes: %v", err)
	}
	if _, err := s.UpdateTemplate(t.Context(), demoted, UpdateTemplateInput{ID: tpl.ID}); kind(err) != chat.KindForbidden {
		t.Errorf("a member changes: %v", err)
	}
	if _, err := s.UpdateTemplate(t.Context(), admin, UpdateTemplateInput{ID: tpl.ID, TemplateFields: chat.TemplateFields{AllowMembers: ptr(true)}}); err != nil {
		t.Fatal(err)
	}
	got, err := s.GetTemplate(t.Context(), demoted, GetTemplateInput{tpl.ID})
	if err != nil || got.Source != "" || got.Setup != "" || got.Name != "shop" {
		t.Errorf("a member sees %+v, %v", got, err)
	}
	if _, err := s.Make(t.Context(), admin, MakeInput{TemplateID: tpl.ID, Setup: ptr("another command")}); kind(err) != chat.KindWrongState {
		t.Errorf("another setup: %v", err)
	}
}

func TestTemplateFields(t *testing.T) {
	s := standing(t)
	dir := folder(t, "shop")
	good := chat.TemplateFields{Name: ptr("shop"), Kind: ptr(chat.TemplateDirectory), Source: &dir}
	s.template(t, good)
	with := func(change func(f *chat.TemplateFields)) chat.TemplateFields {
		f := good
		f.Name = ptr("other")
		change(&f)
		return f
	}
	clone := func(source string) chat.TemplateFields {
		return with(func(f *chat.TemplateFields) { f.Kind, f.Source = ptr(chat.TemplateClone), &source })
	}
	for i, c := range []struct {
		field string
		f     chat.TemplateFields
	}{
		{"name", good},
		{"name", with(func(f *chat.TemplateFields) { f.Name = ptr("SHOP") })},
		{"name", with(func(f *chat.TemplateFields) { f.Name = ptr(" ") })},
		{"description", with(func(f *chat.TemplateFields) { f.Description = ptr(strings.Repeat("x", maxDescription+1)) })},
		{"kind", with(func(f *chat.TemplateFields) { f.Kind = ptr(chat.TemplateKind("tar")) })},
		{"target", with(func(f *chat.TemplateFields) { f.Target = ptr("elsewhere") })},
		{"source", with(func(f *chat.TemplateFields) { f.Source = ptr("") })},
		{"source", with(func(f *chat.TemplateFields) { f.Source = ptr(s.data) })},
		{"source", clone("http://example.org/x.git")},
		{"source", clone("git://example.org/x.git")},
		{"source", clone("ext::sh -c touch")},
		{"source", clone("-oProxyCommand=touch:x")},
		{"source", clone("--upload-pack=touch")},
		{"source", clone("ssh://-oProxyCommand=touch/x")},
		{"source", clone("https://me:secret@example.org/x.git")},
		{"source", clone("relative/path")},
		{"source", clone("https://example.org/x\ny")},
		{"directory", with(func(f *chat.TemplateFields) { f.Directory = ptr("/tmp") })},
		{"policy", with(func(f *chat.TemplateFields) { f.Policy = ptr("any") })},
		{"sandbox", with(func(f *chat.TemplateFields) { f.Sandbox = ptr("any") })},
		{"ttl_ms", with(func(f *chat.TemplateFields) { f.TTLMS = ptr(int64(-1)) })},
		{"ttl_ms", with(func(f *chat.TemplateFields) { f.TTLMS = ptr(chat.MaxWorkspaceTTL.Milliseconds() + 1) })},
		{"setup_timeout_ms", with(func(f *chat.TemplateFields) { f.SetupTimeoutMS = ptr(int64(-1)) })},
		{"setup", with(func(f *chat.TemplateFields) { f.Setup = ptr("a\x00b") })},
		{"variables", with(func(f *chat.TemplateFields) { f.Variables = map[string]string{"A-B": "x"} })},
		{"variables", with(func(f *chat.TemplateFields) { f.Variables = map[string]string{"A": "x\x00"} })},
	} {
		t.Run(fmt.Sprint(i, " ", c.field), func(t *testing.T) {
			_, err := s.CreateTemplate(t.Context(), admin, CreateTemplateInput{c.f})
			refuses(t, err, c.field)
		})
	}
	for _, source := range []string{"https://example.org/x.git", "ssh://git@example.org:2222/x.git", "git@example.org:team/x.git", "/srv/all.bundle"} {
		if why := checkAddress(source); why != "" {
			t.Errorf("%s: %s", source, why)
		}
	}
}
