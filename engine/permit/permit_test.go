package permit

import (
	"testing"

	"holdfast/engine/command"
)

func runs(line string, targets ...string) Call {
	l := command.Parse(line)
	return Call{Tool: "execute", Line: &l, Targets: targets}
}

// TestCommands has cases 30 and 31 of the specification of tools.
func TestCommands(t *testing.T) {
	tests := Set{Default: Ask, Rules: []Rule{rule(Allow, "execute", "", "go test *"), rule(Allow, "write_file", "out/**", "")}}
	removes := Set{Default: Allow, Rules: []Rule{rule(Deny, "execute", "", "rm *")}}
	for _, c := range []struct {
		set  Set
		call Call
		want Effect
	}{
		{tests, runs("go test ./..."), Allow},
		{tests, runs("go test ./... && go test x"), Allow},
		{tests, runs("go test ./... && rm -r x"), Ask},
		{tests, runs("go test $(cat f)"), Ask},
		{tests, runs("go test > ../y", "../y"), Ask},
		{tests, runs("go test > out/y", "out/y"), Allow},
		{tests, runs("go test > y", "y"), Ask},
		{tests, runs("GOFLAGS=-x go test"), Ask},
		{tests, runs("env go test"), Ask},
		{tests, runs("xargs go test"), Ask},
		{tests, runs("sh -c 'go test'"), Ask},
		{tests, runs("./go test"), Ask},
		{tests, runs("$GO test"), Ask},
		{tests, runs("go test; ("), Ask},
		{removes, runs("ls"), Allow},
		{removes, runs("ls; sudo rm x"), Deny},
		{removes, runs(`sh -c "rm x"`), Deny},
		{removes, runs("/bin/rm x"), Deny},
		{removes, runs("echo $(rm x)"), Deny},
		{removes, runs("X=rm; $X y"), Ask},
		{removes, runs("ls; ("), Ask},
		{removes, runs("sh -c \"$(cat f)\""), Ask},
		{Set{Default: Allow}, runs("eval x"), Allow},
		{Set{Default: Ask, Rules: []Rule{rule(Allow, "execute", "", "")}}, runs("ls && x"), Allow},
		{Set{Default: Allow, Rules: []Rule{rule(Deny, "write_file", "secret/**", "")}}, runs("echo > secret/x", "secret/x"), Deny},
	} {
		if got := Decide(c.set, c.call); got.Effect != c.want {
			t.Errorf("%+v: %+v, want %s", c.call.Line, got, c.want)
		}
	}
}

func TestPaths(t *testing.T) {
	set := Set{Default: Ask, Rules: []Rule{rule(Ask, "write_file", "docs/private/**", ""), rule(Allow, "write_file", "docs/**", ""), rule(Deny, "*", "**/.env", ""),
		rule(Allow, "mcp:tide__*", "", ""), rule(Allow, "write_file", "**", "")}}
	for _, c := range []struct {
		call Call
		want Effect
	}{
		{Call{Tool: "write_file", Paths: []string{"docs/a.md"}}, Allow},
		{Call{Tool: "write_file", Paths: []string{"docs/private/a.md"}}, Ask},
		{Call{Tool: "write_file", Paths: []string{"docs/a.md", "docs/private/x"}}, Ask},
		{Call{Tool: "write_file", Paths: []string{"docs/a.md", "sub/.env"}}, Deny},
		{Call{Tool: "read_file", Paths: []string{".env"}}, Deny},
		{Call{Tool: "read_file", Paths: []string{".ENV"}, FoldsCase: true}, Deny},
		{Call{Tool: "read_file", Paths: []string{".ENV"}}, Ask},
		{Call{Tool: "write_file", Paths: []string{"../x"}}, Ask},
		{Call{Tool: "write_file", Paths: []string{"/etc/passwd"}}, Ask},
		{Call{Tool: "write_file", Paths: []string{".git/hooks/pre-commit"}, Protected: "it changes a protected path"}, Ask},
		{Call{Tool: "tide__now"}, Allow},
		{Call{Tool: "tide2__now"}, Ask},
	} {
		got := Decide(set, c.call)
		if got.Effect != c.want || c.call.Protected != "" && got.Always {
			t.Errorf("%+v: %+v, want %s", c.call, got, c.want)
		}
	}
	for pattern, names := range map[string]map[string]bool{
		"**":         {"a": true, "a/b/c": true},
		"a/**":       {"a/b": true, "a/b/c": true, "b/a/c": false},
		"**/x/*.go":  {"x/a.go": true, "p/q/x/a.go": true, "x/p/a.go": false},
		"a/**/b/**":  {"a/b/c": true, "a/x/y/b/z": true, "a/x": false},
		"[":          {"[": false},
		"**/a/**/**": {"a/b": true, "b": false},
	} {
		for name, want := range names {
			if got := Glob(pattern, name, false); got != want {
				t.Errorf("%q %q: %t", pattern, name, got)
			}
		}
	}
}

func rule(e Effect, tool, path, command string) Rule {
	return Rule{Effect: e, Tool: tool, Path: path, Command: command}
}

// FuzzDecide: no rule that allows speaks for a line in which anything is not covered, and none for one with a command that is denied.
func FuzzDecide(f *testing.F) {
	for _, line := range []string{"go test", "go test x; rm y", "go test > out/x", "go test > x", "$(go test)", "rm x", "go test | sudo rm x", "A=b go test", "go test &"} {
		f.Add(line)
	}
	set := Set{Default: Ask, Rules: []Rule{rule(Allow, "execute", "", "go test *"), rule(Allow, "write_file", "out/**", ""), rule(Deny, "execute", "", "rm *")}}
	f.Fuzz(func(t *testing.T, text string) {
		line := command.Parse(text)
		d := Decide(set, Call{Tool: "execute", Line: &line, Targets: line.Writes})
		for _, c := range line.Commands {
			if d.Effect == Allow && !command.Covers("go test *", c) {
				t.Errorf("%q is allowed with %v", text, c)
			}
			if command.Names("rm *", c) && d.Effect != Deny {
				t.Errorf("%q is %s with %v", text, d.Effect, c)
			}
		}
		if d.Effect != Allow {
			return
		}
		if line.Unsure != "" {
			t.Errorf("%q is allowed although %s", text, line.Unsure)
		}
		for _, w := range line.Writes {
			if !Glob("out/**", w, false) {
				t.Errorf("%q is allowed and writes %q", text, w)
			}
		}
	})
}
