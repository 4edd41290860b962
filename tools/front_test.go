package tools_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/agentside"
	"holdfast/engine/argument"
	"holdfast/engine/chat"
	"holdfast/tools"
	"holdfast/tools/fs"
	"holdfast/tools/shell"
)

// front is a Chat in front of the real Tools and a real Workspace, as the engine would stand there.
type front struct {
	t         *testing.T
	set       *tools.Set
	workspace chat.Workspace
	dir       string
	id        chat.ID
	window    int
	maxText   int
	reads     *noted
	// started fails a start when it is set.
	started func(id string) error
	// printed sees the live output as it comes.
	printed func(text string)

	// ahead is how far the Workspace's clock is ahead of ours, in nanoseconds.
	ahead *atomic.Int64

	mu   sync.Mutex // guards live and ids
	live strings.Builder
	ids  []string
}

// noted is what a Chat has seen of files.
type noted struct {
	mu   sync.Mutex
	seen map[string]string
}

func (n *noted) Seen(path string) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	etag, ok := n.seen[path]
	return etag, ok
}

func (n *noted) Note(path, etag string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen[path] = etag
}

// open gives a Chat in a new Workspace whose Tools have these bounds.
func open(t *testing.T, o shell.Options) *front {
	t.Helper()
	dir, own := t.TempDir(), t.TempDir()
	ahead := new(atomic.Int64)
	all, err := agentside.New(t.Context(), agentside.Options{Data: filepath.Join(own, "data"), Temp: filepath.Join(own, "temp"),
		Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := all.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	w, err := all.Open(t.Context(), chat.WorkspaceRecord{ID: "w1", Kind: chat.WorkspaceLocal, Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tools.New(append(fs.Tools(fs.Options{}), shell.Tools(o)...)...)
	if err != nil {
		t.Fatal(err)
	}
	return &front{t: t, set: set, workspace: w, dir: dir, id: "chat-a", window: 32768, maxText: 32768, reads: &noted{seen: map[string]string{}},
		ahead: ahead}
}

// another gives a second Chat in the same Workspace.
func (f *front) another(id chat.ID) *front {
	return &front{t: f.t, set: f.set, workspace: f.workspace, dir: f.dir, id: id, window: f.window, maxText: f.maxText,
		reads: &noted{seen: map[string]string{}}}
}

func (f *front) env() chat.Env {
	return chat.Env{ChatID: f.id, CallID: "call", MaxText: f.maxText, Window: f.window, Workspace: f.workspace, Reads: f.reads,
		Output: func(text string) {
			f.mu.Lock()
			f.live.WriteString(text)
			f.mu.Unlock()
			if f.printed != nil {
				f.printed(text)
			}
		},
		Started: func(id string) error {
			f.mu.Lock()
			f.ids = append(f.ids, id)
			f.mu.Unlock()
			if f.started != nil {
				return f.started(id)
			}
			return nil
		}}
}

func (f *front) shown() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live.String()
}

// call does what the engine does with a Call, and holds every answer to what all of them promise.
func (f *front) call(ctx context.Context, tool, args string) chat.Result {
	f.t.Helper()
	to, ok := f.set.Tool(tool)
	if !ok {
		f.t.Fatalf("there is no tool %s", tool)
	}
	prepared, problem := argument.Prepare(to.Def(), json.RawMessage(args))
	if problem != "" {
		return chat.Result{Content: chat.TextBadArgs(tool, problem, string(to.Def().Schema)), IsError: true}
	}
	got := to.Run(ctx, f.env(), prepared)
	if !got.IsError && !json.Valid([]byte(got.Content)) {
		f.t.Errorf("%s answered no JSON: %s", tool, got.Content)
	}
	if !got.IsError && len(got.Content) > f.maxText {
		f.t.Errorf("%s answered %d bytes, allowed are %d", tool, len(got.Content), f.maxText)
	}
	if got.Detail != nil && !json.Valid(got.Detail) {
		f.t.Errorf("%s has no JSON for the page: %s", tool, got.Detail)
	}
	return got
}

// do expects success and reads the answer.
func (f *front) do(tool, args string, into any) chat.Result {
	f.t.Helper()
	got := f.call(f.t.Context(), tool, args)
	if got.IsError {
		f.t.Fatalf("%s %s failed: %s", tool, args, got.Content)
	}
	decode(f.t, got.Content, into)
	return got
}

// fails expects a failure that says all of these.
func (f *front) fails(tool, args string, says ...string) {
	f.t.Helper()
	got := f.call(f.t.Context(), tool, args)
	if !got.IsError {
		f.t.Fatalf("%s %s succeeded: %s", tool, args, got.Content)
	}
	for _, s := range says {
		if !strings.Contains(got.Content, s) {
			f.t.Errorf("%s %s failed with %q, which does not say %q", tool, args, got.Content, s)
		}
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if into == nil {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

func (f *front) put(name, content string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *front) has(name, want string) {
	f.t.Helper()
	got, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil || string(got) != want {
		f.t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
	}
}

// quote writes text as a JSON string.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

type output struct{ Output string }

type ran struct {
	Success             bool
	Output              string
	ExitCode            int   `json:"exit_code"`
	WallDurationMS      int64 `json:"wall_duration_ms"`
	Error, Note         string
	ProcessID           string `json:"process_id"`
	BackgroundProcessID string `json:"background_process_id"`
	Truncated           *struct {
		OriginalBytes int64 `json:"original_bytes"`
		OmittedBytes  int64 `json:"omitted_bytes"`
	}
	Sandbox struct {
		Level, Profile string
		Open           []string
	}
}

type process struct {
	Success, Running bool
	Output           string
	ExitCode         *int  `json:"exit_code"`
	NextOffset       int64 `json:"next_offset"`
	Error, Note      string
}
