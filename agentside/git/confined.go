package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"holdfast/agentside/sandbox"
	"holdfast/engine/chat"
)

// place is where a git runs and what it looks at beside that directory.
type place struct {
	dir string
	see []string
}

// place is that of the stand-in: the work tree, and what the stand-in links to where that lies elsewhere.
func (s *standIn) place() place {
	p := place{dir: s.repo.dir, see: []string{s.dir}}
	for _, dir := range []string{s.repo.git, s.repo.common} {
		if !within(s.repo.dir, dir) {
			p.see = append(p.see, dir)
		}
	}
	if !s.repo.inside {
		// Nobody who writes in the Workspace decides where these are.
		p.see = append(p.see, s.repo.alternates()...)
	}
	return p
}

// alternates are the directories from which a repository borrows objects.
func (r repository) alternates() []string {
	text, err := readSmall(r.common, filepath.Join("objects", "info", "alternates"))
	if err != nil {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line == "" || line[0] == '#' {
			continue
		}
		if real, err := realFrom(filepath.Join(r.common, "objects"), line); err == nil {
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// programDirs are where a git that is not the system's own keeps what it starts and reads.
func programDirs(file string) []string {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil
	}
	prefix := filepath.Dir(filepath.Dir(real))
	if prefix == "/" || prefix == "/usr" {
		return nil
	}
	return []string{filepath.Dir(real), filepath.Join(prefix, "libexec"), filepath.Join(prefix, "lib"), filepath.Join(prefix, "share", "git-core")}
}

// confined runs git as run does, so that it can only read what it is there for and reaches nobody.
func (p *Program) confined(ctx context.Context, file string, at place, env, args []string, stdin io.Reader, read func(io.Reader) error) error {
	var pipes [3]struct{ r, w *os.File }
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		// What was closed before is closed twice, which is no fault.
		defer r.Close()
		defer w.Close()
		pipes[i].r, pipes[i].w = r, w
	}
	in, out, said := pipes[0], pipes[1], pipes[2]
	running, err := p.box.Start(sandbox.Command{Profile: chat.ProfileReadOnly, Argv: append([]string{file}, args...), Env: p.env(env), Dir: at.dir,
		Workspace: at.dir, See: append(at.see, programDirs(file)...), Input: in.r, Output: out.w, Errors: said.w})
	if err = errors.Join(err, in.r.Close(), out.w.Close(), said.w.Close()); err != nil {
		return fmt.Errorf("start git in its sandbox: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { killGroup(running.PID) })
	defer stop()
	var stderr limited
	fed, heard := make(chan error, 1), make(chan error, 1)
	go func() {
		var err error
		if stdin != nil {
			// A git that reads no further closes its end, and says why by its own end.
			_, _ = io.Copy(in.w, stdin)
		}
		err = in.w.Close()
		fed <- err
	}()
	go func() {
		_, err := io.Copy(&stderr, said.r)
		heard <- err
	}()
	readErr := read(out.r)
	if readErr != nil {
		killGroup(running.PID)
	}
	code, _, waitErr := running.Wait()
	// Whoever still holds the pipes goes with the group.
	killGroup(running.PID)
	err = errors.Join(waitErr, running.Reap(), <-fed, <-heard)
	switch {
	case errors.Is(readErr, errEnough):
		return nil
	case ctx.Err() != nil && readErr == nil:
		return context.Cause(ctx)
	case readErr != nil:
		return readErr
	case err != nil:
		return err
	case code != 0:
		return &failure{code: code, stderr: strings.ToValidUTF8(strings.TrimSpace(stderr.String()), "?")}
	}
	return nil
}
