package permit

import (
	"testing"

	"holdfast/engine/command"
)

func run(line string, targets ...string) Call {
	l := command.Parse(line)
	return Call{Tool: "execute", Line: &l, Targets: targets}
}

// TestCommands has cases 30 and 31 of the specification of tools.
func TestCommands(t *testing.T) {
	tests := Set{Default: Ask, Rules: []Rule{{Allow, "execute", "", "go test *"}, {Allow, "write_file", "out/**", ""}}}
	removes := Set{Default: Allow, Rules: []Rule{{Deny, "execute", "", "rm *"}}}
	for _, c := range []struct {
		set  Set
		call Call
		want Effect
	}{
		{tests, run("go test ./..."), Allow},
		{tests, run("go test ./... && go test x"), Allow},
		{tests, run("go test ./... && rm -r x"), Ask},
		{tests, run("go test $(cat f)"), Ask},
		{tests, run("go test > ../y", "../y"), Ask},
		{tests, run("go test > out/y", "out/y"), Allow},
		{tests, run("go test > y", "y"), Ask},
		{tests, run("GOFLAGS=-x go test"), Ask},
		{tests, run("env go test"), Ask},
		{tests, run("xargs go test"), Ask},
		{tests, run("sh -c 'go test'"), Ask},
		{tests, run("./go test"), Ask},
		{tests, run("$GO test"), Ask},
		{tests, run("go test; ("), Ask},
		{removes, run("ls"), Allow},
		{removes, run("ls; sudo rm x"), Deny},
		{removes, run(`sh -c "rm x"`), Deny},
		{removes, run("/bin/rm x"), Deny},
		{removes, run("echo $(rm x)"), Deny},
		{removes, run("X=rm; $X y"), Ask},
		{removes, run("ls; ("), Ask},
		{removes, run("sh -c \"$(cat f)\""), Ask},
		{Set{Default: Allow}, run("eval x"), Allow},
		{Set{Default: Ask, Rules: []Rule{{Allow, "execute", "", ""}}}, run("ls && x"), Allow},
		{Set{Default: Allow, Rules: []Rule{{Deny, "write_file", "secret/**", ""}}}, run("echo > secret/x", "secret/x"), Deny},
	} {
		if got := Decide(c.set, c.call); got.Effect != c.want {
			t.Errorf("%+v: %+v, want %s", c.call.Line, got, c.want)
		}
	}
}

func TestPaths(t *testing.T) {
	set := Set{Default: Ask, Rules: []Rule{{Ask, "write_file", "docs/private/**", ""}, {Allow, "write_file", "docs/**", ""}, {Deny, "*", "**/.env", ""},
		{Allow, "mcp:tide__*", "", ""}, {Allow, "write_file", "**", ""}}}
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
		{Call{Tool: "write_file", Paths: []string{".git/hooks/pre-commit"}, Protected: true}, Ask},
		{Call{Tool: "tide__now"}, Allow},
		{Call{Tool: "tide2__now"}, Ask},
	} {
		got := Decide(set, c.call)
		if got.Effect != c.want || c.call.Protected && got.Always {
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
