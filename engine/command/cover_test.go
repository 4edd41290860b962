package command

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// ran gives the simple commands that a shell runs for a line, and the files that it opens to write, without running any program.
func ran(line string) (commands [][]string, writes []string) {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	shell, err := interp.New(interp.StdIO(nil, io.Discard, io.Discard),
		interp.CallHandler(func(_ context.Context, args []string) ([]string, error) {
			commands = append(commands, args)
			// Nothing of the shell's own runs either.
			return []string{"true"}, nil
		}),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
			return func(context.Context, []string) error { return nil }
		}),
		interp.OpenHandler(func(_ context.Context, path string, flag int, _ os.FileMode) (io.ReadWriteCloser, error) {
			if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
				writes = append(writes, path)
			}
			return nil, os.ErrPermission
		}))
	if err != nil {
		return nil, nil
	}
	// What it says of its end does not matter here.
	_ = shell.Run(ctx, file)
	return commands, writes
}

// FuzzCovered: where a rule covers all that was read of a line, a shell runs nothing else for it, and writes nothing that was not named.
func FuzzCovered(f *testing.F) {
	for _, line := range []string{"go test ./...", "go test ./... && rm -r x", "go test $(cat f)", "go test > ../y", "go test; go test x", "GOFLAGS=-x go test", "go test | tee x",
		"go test `rm x`", "g''o test", `g\o test`, "go test <(rm x)", "! go test", "{ go test; }", "(go test)", "go test & rm x", "go test\nrm x", "if go test; then rm x; fi", "$'go' test",
		"go test ${x:=`rm y`}", "go test $((x=1))", "go test <<E\n$(rm x)\nE\n", "go() { rm x; }; go test", "go test # rm x", "go test \\\nrm x", "{go,rm} test", "go test >| x", "go test &> x", "go test >> x 2>&1"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const pattern = "go test *"
		line := Parse(text)
		if line.Unsure != "" {
			return
		}
		for _, c := range line.Commands {
			if !Covers(pattern, c) {
				return
			}
		}
		commands, writes := ran(text)
		for _, args := range commands {
			if len(args) < 2 || args[0] != "go" || args[1] != "test" {
				t.Errorf("%q is covered by %q, and a shell runs %q", text, pattern, args)
			}
		}
		if len(writes) > 0 && len(line.Writes) == 0 {
			t.Errorf("%q writes %q, and nothing was read of that", text, writes)
		}
	})
}
