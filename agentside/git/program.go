package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"holdfast/agentside/sandbox"
	"holdfast/engine/chat"
)

// Bounds of what git may take.
const (
	gitTime   = 10 * time.Second
	waitDelay = time.Second
	atOnce    = 2
	maxErrors = 4 << 10
)

// Options say how git is found and where it may write.
type Options struct {
	// Temp is where the stand-ins for .git are made, each for one look; "" is the system's directory for temporary files.
	Temp string
	// Environ names the places of programs with its PATH, and nothing else of it is passed on; nil is this process's own.
	Environ []string
	// Sandbox holds git to reading where the machine can; nil does not.
	Sandbox *sandbox.Box
	Log     *slog.Logger
	// time is how long one look may take; 0 is 10 s.
	time time.Duration
}

// Program is the git of this machine.
type Program struct {
	temp    string
	environ []string
	box     *sandbox.Box
	log     *slog.Logger
	time    time.Duration
	slots   chan struct{}

	// ctx ends at Close, with the cause errClosed; running are the looks that it joins.
	ctx     context.Context
	cancel  context.CancelCauseFunc
	mu      sync.Mutex // guards closed, so that nothing is added to running after Close has begun to wait
	closed  bool
	running sync.WaitGroup
}

var (
	errClosed = errors.New("git: the appliance is stopping")
	errLate   = errors.New("git: it took too long")
)

// New gives a Program; whether there is a git is found out at each use.
func New(o Options) *Program {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &Program{temp: o.Temp, environ: o.Environ, box: o.Sandbox, log: o.Log, time: cmp.Or(o.time, gitTime), slots: make(chan struct{}, atOnce)}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	return p
}

// Close ends what runs and waits for it, or until ctx ends. Later looks are refused.
func (p *Program) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel(errClosed)
	gone := make(chan struct{})
	go func() {
		p.running.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end git: %w", context.Cause(ctx))
	}
}

// enter begins a look: its context ends with ctx, after the time for one, and at Close. leave must follow.
func (p *Program) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, &chat.Error{Kind: chat.KindStopping, Message: "The appliance is stopping."}
	}
	p.running.Add(1)
	ctx, stop := context.WithTimeoutCause(ctx, p.time, errLate)
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(p.ctx, func() { cancel(context.Cause(p.ctx)) })
	return ctx, func() {
		unhook()
		cancel(nil)
		stop()
		p.running.Done()
	}, nil
}

// find gives the path of git. Only absolute places count: with others the repository would choose the program.
func (p *Program) find() (string, error) {
	name := "git"
	if runtime.GOOS == "windows" {
		name = "git.exe"
	}
	for _, dir := range p.path() {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return file, nil
		}
	}
	return "", &chat.Error{Kind: chat.KindUnavailable, Message: "git is not installed on the machine that has the files.",
		Detail: "Install it there; nothing else is needed."}
}

func (p *Program) path() []string {
	var dirs []string
	for _, v := range p.environ {
		if list, ok := strings.CutPrefix(v, "PATH="); ok {
			dirs = filepath.SplitList(list)
		}
	}
	var absolute []string
	for _, dir := range dirs {
		if filepath.IsAbs(dir) {
			absolute = append(absolute, dir)
		}
	}
	return absolute
}

// env is the whole environment of a git: nothing of ours but the places of programs.
func (p *Program) env(more []string) []string {
	return append([]string{
		"PATH=" + strings.Join(p.path(), string(filepath.ListSeparator)), "LC_ALL=C", "HOME=" + os.DevNull, "XDG_CONFIG_HOME=" + os.DevNull,
		"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_EDITOR=true", "GIT_ASKPASS=true", "SSH_ASKPASS=true", "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1",
		// No way to another repository is allowed, however a configuration names it.
		"GIT_ALLOW_PROTOCOL=none", "GIT_SSH_COMMAND=false",
	}, more...)
}

// failure is what a git that ended with another code than 0 wrote.
type failure struct {
	code   int
	stderr string
}

func (f *failure) Error() string { return fmt.Sprintf("git ended with %d: %s", f.code, f.stderr) }

// errEnough, from a reader of the output, ends git and is no failure.
var errEnough = errors.New("git: enough was read")

// run starts git in a directory, hands its output to read, and returns when it and all that it started are gone.
func (p *Program) run(ctx context.Context, at place, env, args []string, stdin io.Reader, read func(io.Reader) error) error {
	file, err := p.find()
	if err != nil {
		return err
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.box.Confines(chat.ProfileReadOnly) {
		return p.confined(ctx, file, at, env, args, stdin, read)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, args...)
	var stderr limited
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = at.dir, p.env(env), stdin, &stderr
	cmd.WaitDelay = waitDelay
	ownGroup(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	readErr := read(out)
	if readErr != nil {
		cancel()
	}
	err = cmd.Wait()
	var ended *exec.ExitError
	switch {
	case errors.Is(readErr, errEnough):
		return nil
	case ctx.Err() != nil && readErr == nil:
		return context.Cause(ctx)
	case readErr != nil:
		return readErr
	case errors.As(err, &ended):
		return &failure{code: ended.ExitCode(), stderr: strings.ToValidUTF8(strings.TrimSpace(stderr.String()), "?")}
	}
	return err
}

// limited keeps the beginning of what is written to it.
type limited struct{ bytes.Buffer }

// Write never fails: what is too much is dropped.
func (l *limited) Write(b []byte) (int, error) {
	if room := maxErrors - l.Len(); room > 0 {
		l.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
