package agentside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"holdfast/engine/chat"
)

// maxTries is how many names are tried for one Workspace.
const maxTries = 100

// waitGit is how long what git started may hold its output when git itself is gone.
const waitGit = 5 * time.Second

// making is where directories are made when nothing else is said, and which hosts git may call for one; nil is any.
type making struct {
	dir     string
	mayCall func(ctx context.Context, host string, port int) error
}

var _ chat.Maker = (*Workspaces)(nil)

// Make makes the directory of a Workspace.
func (w *Workspaces) Make(ctx context.Context, rec chat.WorkspaceRecord, log func(string)) (chat.Made, error) {
	m := rec.Made
	if rec.Kind == chat.WorkspaceAgent && w.beyond.Make != nil {
		return w.beyond.Make(ctx, rec, log)
	}
	if m.Kind == chat.TemplateDirectory {
		dir, err := w.Resolve(ctx, m.Source)
		return chat.Made{Directory: dir}, err
	}
	parent, err := w.parent(ctx, m.Parent)
	if err != nil {
		return chat.Made{}, err
	}
	switch m.Kind {
	case chat.TemplateClone:
		return w.clone(ctx, parent, rec, log)
	case chat.TemplateWorktree:
		return w.worktree(ctx, parent, rec, log)
	}
	return chat.Made{}, chat.Invalid("kind", fmt.Sprintf("a workspace cannot be made of %q", m.Kind))
}

// parent gives the real directory in which new ones are made; where none was chosen it is one of ours in the home directory.
func (w *Workspaces) parent(ctx context.Context, dir string) (string, error) {
	if w.own.beside {
		return "", onlyBeside()
	}
	if dir == "" {
		if dir = w.own.making.dir; dir == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", chat.Invalid("directory", "the home directory is not known; name in the template where workspaces are made")
			}
			dir = filepath.Join(home, "holdfast-workspaces")
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", chat.Invalid("directory", fmt.Sprintf("%q cannot be made: %v", dir, reason(err)))
		}
	}
	return w.Resolve(ctx, dir)
}

// place makes an empty directory of the wanted name, or with -2 and so on behind it.
func place(parent, name string) (dir, suffix string, err error) {
	for n := 1; n <= maxTries; n++ {
		if n > 1 {
			suffix = "-" + strconv.Itoa(n)
		}
		dir = filepath.Join(parent, plainDir(name)+suffix)
		err := os.Mkdir(dir, 0o755)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return dir, suffix, err
		}
	}
	return "", "", chat.Invalid("name", fmt.Sprintf("%q and %d more of it are there already", name, maxTries))
}

// plainDir makes one name of a directory out of what a person or a model calls a Workspace.
func plainDir(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '-'
	}, name)
	if plain = strings.Trim(plain, "-."); plain == "" {
		return "workspace"
	}
	return plain
}

func (w *Workspaces) clone(ctx context.Context, parent string, rec chat.WorkspaceRecord, log func(string)) (chat.Made, error) {
	dir, _, err := place(parent, rec.Name)
	if err != nil {
		return chat.Made{}, err
	}
	if err := w.reaches(ctx, rec.Made.Source); err != nil {
		return chat.Made{}, errors.Join(err, os.RemoveAll(dir))
	}
	if err := w.mayClone(ctx, rec.Made.Source); err != nil {
		return chat.Made{}, errors.Join(err, os.RemoveAll(dir))
	}
	args := []string{"clone", "--template=", "--no-recurse-submodules"}
	if rec.Made.Branch != "" {
		args = append(args, "--branch", rec.Made.Branch)
	}
	if err := w.runGit(ctx, parent, log, append(args, "--", rec.Made.Source, dir)...); err != nil {
		return chat.Made{}, errors.Join(err, os.RemoveAll(dir))
	}
	return chat.Made{Directory: dir, Branch: rec.Made.Branch}, nil
}

// mayClone looks whether a path may be read; what stands elsewhere is asked of its host.
func (w *Workspaces) mayClone(ctx context.Context, source string) error {
	if w.own.roots == nil || !filepath.IsAbs(source) {
		return nil
	}
	real, err := filepath.EvalSymlinks(source)
	if err == nil && !w.inRoots(real) {
		return chat.Invalid("source", fmt.Sprintf("%q does not lie in a directory where workspaces may be made on that machine", source))
	}
	return err
}

// reaches asks whether the host of an address may be called; a path calls nobody.
func (w *Workspaces) reaches(ctx context.Context, source string) error {
	if w.own.making.mayCall == nil || filepath.IsAbs(source) {
		return nil
	}
	u, err := url.Parse(source)
	if err != nil || u.Host == "" {
		// user@host:path, as ssh takes it.
		host, _, _ := strings.Cut(source, ":")
		return w.own.making.mayCall(ctx, host[strings.LastIndex(host, "@")+1:], 22)
	}
	port := map[string]int{"https": 443, "ssh": 22}[u.Scheme]
	if own := u.Port(); own != "" {
		if port, err = strconv.Atoi(own); err != nil {
			return chat.Invalid("source", "the port of its address is no number")
		}
	}
	return w.own.making.mayCall(ctx, u.Hostname(), port)
}

// worktree adds a worktree on a branch of its own. What is asked for as a branch is where it begins, if there is such a one.
func (w *Workspaces) worktree(ctx context.Context, parent string, rec chat.WorkspaceRecord, log func(string)) (chat.Made, error) {
	source, err := w.Resolve(ctx, rec.Made.Source)
	if err != nil {
		return chat.Made{}, err
	}
	name, from := rec.Name, "HEAD"
	if b := rec.Made.Branch; b != "" {
		if w.runGit(ctx, source, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", b+"^{commit}") == nil {
			from = b
		} else {
			name = b
		}
	}
	name = plainBranch(name)
	for n := 1; n <= maxTries; n++ {
		branch := "holdfast/" + name
		if n > 1 {
			branch += "-" + strconv.Itoa(n)
		}
		if w.runGit(ctx, source, nil, "show-ref", "--verify", "--quiet", "refs/heads/"+branch) == nil {
			continue
		}
		dir, _, err := place(parent, rec.Name)
		if err != nil {
			return chat.Made{}, err
		}
		if err := w.runGit(ctx, source, log, "worktree", "add", "-b", branch, "--", dir, from); err != nil {
			return chat.Made{}, errors.Join(err, os.RemoveAll(dir))
		}
		return chat.Made{Directory: dir, Branch: branch}, nil
	}
	return chat.Made{}, chat.Invalid("name", fmt.Sprintf("there are %d branches like holdfast/%s already", maxTries, name))
}

// plainBranch keeps slashes, and makes of the rest what git takes as a part of a branch.
func plainBranch(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		part = strings.TrimSuffix(strings.ReplaceAll(plainDir(part), "..", "."), ".lock")
		parts = append(parts, part)
	}
	return strings.Join(parts, "/")
}

// Remove removes a worktree, whose branch stays in the repository, and the cache of any Workspace.
func (w *Workspaces) Remove(ctx context.Context, rec chat.WorkspaceRecord, discard bool) error {
	if rec.Kind == chat.WorkspaceAgent && w.beyond.Remove != nil {
		return w.beyond.Remove(ctx, rec, discard)
	}
	w.manager.ForgetCache(rec.ID)
	if rec.Made.Kind != chat.TemplateWorktree || rec.Directory == "" || gone(rec.Directory) {
		return nil
	}
	source, err := w.Resolve(ctx, rec.Made.Source)
	if err != nil {
		return keepOrDiscard("The repository of this worktree is not where it was.", rec.Directory, err)
	}
	args := []string{"worktree", "remove"}
	if discard {
		args = append(args, "--force")
	}
	// It is asked in the repository, so that what a command wrote into the worktree's own .git leads nowhere.
	err = w.runGit(ctx, source, nil, append(args, "--", rec.Directory)...)
	if err == nil {
		return nil
	}
	if !discard {
		return keepOrDiscard("The worktree has changes that are not committed.", rec.Directory, err)
	}
	return err
}

// keepOrDiscard refuses to remove a worktree until somebody says what becomes of its files.
func keepOrDiscard(message, dir string, cause error) error {
	return &chat.Error{Kind: chat.KindWrongState, Message: message, Detail: "Commit them, keep the files, or discard them: " + dir,
		Validations: []chat.Validation{{Field: "files", Detail: "keep or discard"}}, Cause: cause}
}

// runGit runs git with all switched off that would run what a repository brings along. What it says goes to log, unless nil.
func (w *Workspaces) runGit(ctx context.Context, dir string, log func(string), args ...string) error {
	program, err := exec.LookPath("git")
	if err != nil {
		return &chat.Error{Kind: chat.KindConfig, Message: "git is not installed on this machine.", Detail: "Install it, then try again."}
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
		"-c", "submodule.recurse=false", "-c", "http.followRedirects=false", "-c", "protocol.ext.allow=never"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(cleanGit(os.Environ()), "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "SSH_ASKPASS=true", "GIT_ALLOW_PROTOCOL=file:https:ssh",
		"GIT_SSH_COMMAND=ssh -oBatchMode=yes", "LC_ALL=C")
	var said tail
	cmd.Stderr, cmd.WaitDelay = &said, waitGit
	if log != nil {
		cmd.Stderr = io.MultiWriter(&said, writer(log))
	}
	err = cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return &chat.Error{Kind: chat.KindGeneric, Message: "git " + args[0] + " failed.", Detail: said.last(), Cause: err}
	}
	return nil
}

// cleanGit takes out what would point git elsewhere than we say, and the appliance's own secrets.
func cleanGit(env []string) []string {
	var out []string
	for _, v := range env {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "HOLDFAST_") && !strings.HasPrefix(v, "CREDENTIALS_DIRECTORY=") {
			out = append(out, v)
		}
	}
	return out
}

// writer hands what is written to a func.
type writer func(string)

func (w writer) Write(b []byte) (int, error) {
	w(string(b))
	return len(b), nil
}

// tail keeps the end of what is written.
type tail struct{ b []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if over := len(t.b) - 2048; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(b), nil
}

// last gives the last line that says something.
func (t *tail) last() string {
	lines := bytes.FieldsFunc(t.b, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := len(lines) - 1; i >= 0; i-- {
		if line := bytes.TrimSpace(lines[i]); len(line) > 0 {
			return strings.ToValidUTF8(string(line), "\uFFFD")
		}
	}
	return "it said nothing"
}
