package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/ui/cli"
	"holdfast/ui/gate"
)

const (
	// longestAttr bounds, in bytes, what one attribute of a log line may say.
	longestAttr = 1 << 10
	// keepCrashes is how many crash files are kept.
	keepCrashes = 20
)

// newLogger writes text with short times on a terminal, JSON with the journal's priorities where the journal reads it, and JSON
// elsewhere; level may change later. That is so unless format says otherwise. The stack of a panic goes to a file in crashDir, which the line names.
func newLogger(o logOptions, level *slog.LevelVar, w io.Writer, crashDir string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(o.level)); err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	level.Set(l)
	out := w
	if o.tail != nil {
		out = io.MultiWriter(w, o.tail)
	}
	lines := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { return shorten(a) }}
	var h slog.Handler
	switch {
	case o.format == "text", o.format == "auto" && cli.IsTerminal(w):
		lines.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.String(a.Key, a.Value.Time().Format(time.TimeOnly))
			}
			return shorten(a)
		}
		h = slog.NewTextHandler(out, lines)
	case o.format == "auto" && isJournal(w, os.Getenv("JOURNAL_STREAM")):
		h = newJournal(out, lines)
	case o.format == "auto", o.format == "json":
		h = slog.NewJSONHandler(out, lines)
	default:
		return nil, fmt.Errorf("--log-format %q: it must be auto, text or json", o.format)
	}
	return slog.New(gate.LogHandler(crashHandler{h, crashDir})), nil
}

// shorten cuts what an attribute says; both formats quote it.
func shorten(a slog.Attr) slog.Attr {
	said := ""
	switch v := a.Value.Any().(type) {
	case string:
		said = v
	case error:
		said = v.Error()
	case fmt.Stringer:
		said = v.String()
	}
	if len(said) <= longestAttr {
		return a
	}
	end := longestAttr
	for !utf8.RuneStart(said[end]) {
		end--
	}
	return slog.String(a.Key, said[:end])
}

// journal writes lines with the priority that systemd's journal takes from their beginning.
type journal struct {
	// byLevel are debug, info, warning and error.
	byLevel [4]slog.Handler
}

type prioritised struct {
	w      io.Writer
	prefix string
}

// Write puts the priority before a line, in one write with it.
func (p prioritised) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append([]byte(p.prefix), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}

func newJournal(w io.Writer, o *slog.HandlerOptions) journal {
	var j journal
	for i, prefix := range []string{"<7>", "<6>", "<4>", "<3>"} {
		j.byLevel[i] = slog.NewJSONHandler(prioritised{w, prefix}, o)
	}
	return j
}

func (j journal) at(l slog.Level) slog.Handler {
	switch {
	case l < slog.LevelInfo:
		return j.byLevel[0]
	case l < slog.LevelWarn:
		return j.byLevel[1]
	case l < slog.LevelError:
		return j.byLevel[2]
	}
	return j.byLevel[3]
}

// Enabled and the methods below make a journal a slog.Handler.
func (j journal) Enabled(ctx context.Context, l slog.Level) bool { return j.at(l).Enabled(ctx, l) }

// Handle writes the line at its priority.
func (j journal) Handle(ctx context.Context, r slog.Record) error {
	return j.at(r.Level).Handle(ctx, r)
}

// WithAttrs adds to every priority.
func (j journal) WithAttrs(a []slog.Attr) slog.Handler {
	for i, h := range j.byLevel {
		j.byLevel[i] = h.WithAttrs(a)
	}
	return j
}

// WithGroup opens the group at every priority.
func (j journal) WithGroup(name string) slog.Handler {
	for i, h := range j.byLevel {
		j.byLevel[i] = h.WithGroup(name)
	}
	return j
}

// crashHandler writes the stack of a panic, and the line it came with, into a file of its own.
type crashHandler struct {
	slog.Handler
	dir string
}

// Handle passes the line on, with the file's path for the stack.
func (h crashHandler) Handle(ctx context.Context, r slog.Record) error {
	stack, line := "", slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	var about strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == chat.LogStack {
			stack = a.Value.String()
			return true
		}
		line.AddAttrs(a)
		fmt.Fprintf(&about, "%s: %q\n", a.Key, shorten(a).Value.String())
		return true
	})
	if stack == "" {
		return h.Handler.Handle(ctx, r)
	}
	name, err := writeCrash(h.dir, r.Time, fmt.Sprintf("%s %s\n%s\n%s\n%s", r.Time.Format(time.RFC3339), version, r.Message, &about, stack))
	line.AddAttrs(slog.String(chat.LogCrashFile, name))
	if err != nil {
		// Without its file the line keeps the stack, or at least its beginning.
		line.AddAttrs(slog.String(chat.LogCrashError, err.Error()), slog.String(chat.LogStack, stack))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs keeps the wrapper around the handler with attributes.
func (h crashHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return crashHandler{h.Handler.WithAttrs(a), h.dir}
}

// WithGroup keeps the wrapper around the handler of the group.
func (h crashHandler) WithGroup(name string) slog.Handler {
	return crashHandler{h.Handler.WithGroup(name), h.dir}
}

// writeCrash makes a crash file, and removes the oldest beyond those that are kept.
func writeCrash(dir string, at time.Time, text string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	name := filepath.Join(dir, at.UTC().Format("20060102-150405-")+uuid.NewString()[:8]+".txt")
	return name, errors.Join(os.WriteFile(name, []byte(text), 0o600), pruneCrashes(dir))
}

func pruneCrashes(dir string) error {
	// The names begin with the time, so their order is that of the crashes.
	names, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, old := range names[:max(0, len(names)-keepCrashes)] {
		err = errors.Join(err, os.Remove(old))
	}
	return err
}

// watchCrash has the runtime write what ends the whole process into dir/last.log. What the process before wrote there becomes a
// crash file of its own, and is told.
func watchCrash(dir string, log *slog.Logger) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	last := filepath.Join(dir, "last.log")
	info, err := os.Stat(last)
	if err == nil && info.Size() > 0 {
		name := filepath.Join(dir, info.ModTime().UTC().Format("20060102-150405-")+"process.txt")
		if err := os.Rename(last, name); err != nil {
			return err
		}
		log.Error("the process before this one crashed", chat.LogCrashFile, name)
		if err := pruneCrashes(dir); err != nil {
			return err
		}
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(last, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// The runtime keeps a duplicate.
	return errors.Join(debug.SetCrashOutput(f, debug.CrashOptions{}), f.Close())
}
