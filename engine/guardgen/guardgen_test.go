package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const sample = "testdata/sample"

// copyRoom puts the sample's hand-written files into a new directory, changed by edit.
func copyRoom(t *testing.T, edit func(name, source string) string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"room.go", "policy.go"} {
		b, err := os.ReadFile(filepath.Join(sample, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), edit(name, string(b)))
	}
	return dir
}

func same(_, source string) string { return source }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestGolden(t *testing.T) {
	got, err := generate(sample, "Room")
	if err != nil {
		t.Fatal(err)
	}
	if want := read(t, filepath.Join(sample, output)); string(got) != want {
		t.Errorf("the sample's %s would be:\n%s", output, got)
	}
}

func TestWritesOnceAndChecks(t *testing.T) {
	dir := copyRoom(t, same)
	if err := run([]string{"-dir", dir, "-check"}, t.Output()); err == nil {
		t.Error("-check passes without the file")
	}
	if err := run([]string{"-dir", dir}, t.Output()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, output)
	first := read(t, path)
	// A second run must not even open it for writing.
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-dir", dir}, t.Output()); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !before.ModTime().Equal(after.ModTime()) || read(t, path) != first {
		t.Error("a second run touches the file")
	}
	if err := run([]string{"-dir", dir, "-check"}, t.Output()); err != nil {
		t.Errorf("-check: %v", err)
	}
}

func TestOrderAndFilesDoNotMatter(t *testing.T) {
	want := read(t, filepath.Join(sample, output))
	dir := copyRoom(t, func(name, source string) string {
		if name != "room.go" {
			return source
		}
		head, rest, ok := strings.Cut(source, "// Send is a plain command.")
		send, rest, ok2 := strings.Cut(rest, "// Watch gives")
		if !ok || !ok2 {
			t.Fatal("the sample has changed")
		}
		return head + "// Watch gives" + rest + "\n// Send is a plain command." + send
	})
	write(t, filepath.Join(dir, "zzz_test.go"), "package sample\nfunc (r *Room) Broken(")
	got, err := generate(dir, "Room")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("methods in another order give:\n%s", got)
	}
}

func TestRefusals(t *testing.T) {
	const head = "package x\n\nimport (\n\t\"context\"\n\t\"holdfast/engine/chat\"\n\t\"example.org/yaml/v3\"\n)\n\ntype Room struct{}\n\n" +
		"func (r *Room) Fine(context.Context, chat.Principal, int) (int, error) { return 0, nil }\n\n"
	for name, c := range map[string]struct{ source, want string }{
		"no output":        {head + "func (r *Room) A(ctx context.Context, p chat.Principal, in int) error { return nil }", "A is not a command"},
		"three results":    {head + "func (r *Room) A(ctx context.Context, p chat.Principal, in int) (int, func(), error) { panic(0) }", "A is not a command"},
		"no context":       {head + "func (r *Room) A(p chat.Principal, in int) (int, error) { panic(0) }", "A is not a command"},
		"no reason":        {head + "//guard:none\nfunc (r *Room) A(p chat.Principal) {}", "A is not a command"},
		"empty reason":     {head + "//guard:none  \nfunc (r *Room) A(p chat.Principal) {}", "A is not a command"},
		"unnamed import":   {head + "func (r *Room) A(ctx context.Context, p chat.Principal, in yaml.Node) (int, error) { panic(0) }", "name the import of yaml"},
		"no such type":     {"package x\n", "no type Room"},
		"no commands":      {"package x\n\ntype Room struct{}\n", "has no commands"},
		"does not parse":   {"package x\n\nfunc (\n", "expected"},
		"foreign receiver": {"package x\n\ntype Room struct{}\ntype T struct{}\nfunc (T) A(context.Context, chat.Principal, int) (int, error)", "has no commands"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "x.go"), c.source)
			err := run([]string{"-dir", dir}, t.Output())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, output)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file was written: %v", err)
			}
		})
	}
}

// compile builds the sample with one file replaced and gives what the compiler says.
func compile(t *testing.T, policy string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	changed := filepath.Join(dir, "policy.go")
	write(t, changed, policy)
	abs, err := filepath.Abs(filepath.Join(sample, "policy.go"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{abs: changed}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	write(t, file, string(overlay))
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", file, "./"+sample)
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

func TestCommandWithoutPolicyDoesNotCompile(t *testing.T) {
	whole := read(t, filepath.Join(sample, "policy.go"))
	if out, err := compile(t, whole); err != nil {
		t.Fatalf("the whole sample does not compile: %v\n%s", err, out)
	}
	out, err := compile(t, strings.Replace(whole, "policySend ", "somethingElse ", 1))
	if err == nil || !strings.Contains(out, "undefined: policySend") {
		t.Errorf("without a policy: %v\n%s", err, out)
	}
	out, err = compile(t, strings.Replace(whole, "account.Anyone[time.Duration]()", "account.Anyone[time.Time]()", 1))
	if err == nil || !strings.Contains(out, "does not match") {
		t.Errorf("with the policy of another input: %v\n%s", err, out)
	}
}

// TestRoomsAreUpToDate looks at every package of the engine that asks for the generator.
func TestRoomsAreUpToDate(t *testing.T) {
	rooms := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for line := range strings.Lines(read(t, path)) {
			args, ok := strings.CutPrefix(strings.TrimSpace(line), "//go:generate go run holdfast/engine/guardgen")
			if !ok {
				continue
			}
			rooms++
			if err := run(append(strings.Fields(args), "-check", "-dir", filepath.Dir(path)), t.Output()); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rooms < 2 {
		t.Errorf("%d rooms found; the sample and account are two", rooms)
	}
}
