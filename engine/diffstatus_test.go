package engine_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// git is the git of a person in the Workspace.
func (r *rig) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// differs waits until a Chat's diff status is want.
func (r *rig) differs(id chat.ID, want chat.DiffStatus) {
	r.t.Helper()
	r.until(id, "another diff status", func(v engine.View) bool { return v.Chat.Diff != nil && *v.Chat.Diff == want })
}

// writesWhenAsked writes a file of two lines when it is told to.
func writesWhenAsked(p *scripted.Prompt) scripted.Reply {
	if p.User() == "write" && len(p.Results()) == 0 {
		return scripted.Calls(toolCall("write_file", `{"path":"b","content":"1\n2\n"}`))
	}
	return scripted.Text("done")
}

// TestDiffStatus: what the files of a Workspace differ from the last commit is on every Chat there, in the list and on the page, and a
// watch of the list hears of it once. case 77
func TestDiffStatus(t *testing.T) {
	r := newRig(t, setup{place: true, bounds: engine.Bounds{DiffEvery: time.Millisecond}, model: scripted.Model{Answer: writesWhenAsked}})
	r.git("init", "-q", "-b", "main")
	r.write("a", "1\n")
	r.git("add", "a")
	r.git("commit", "-q", "-m", "first")
	other := r.create("Say hello.")
	r.rest(other)
	r.differs(other, chat.DiffStatus{Branch: "main"})

	watch, err := r.engine.WatchList(t.Context(), r.who, engine.WatchListInput{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	before := r.view(other).Chat
	id := r.create("write")
	r.rest(id)
	want := chat.DiffStatus{Additions: 2, Files: 1, Branch: "main"}
	r.differs(id, want)
	r.differs(other, want)
	if now := r.view(other).Chat; now.Version != before.Version+1 || !now.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("the other chat went from version %d to %d, from %v to %v", before.Version, now.Version, before.UpdatedAt, now.UpdatedAt)
	}
	list, err := r.engine.List(t.Context(), r.who, engine.ListInput{})
	if err != nil || len(list.Chats) != 2 || list.Chats[0].Diff == nil || *list.Chats[0].Diff != want || *list.Chats[1].Diff != want {
		t.Errorf("the list has %+v, %v", list.Chats, err)
	}
	named := map[chat.ID]bool{}
	for len(watch.C) > 0 {
		<-watch.C
	}
	ids, _ := watch.Changed()
	for _, id := range ids {
		named[id] = true
	}
	if !named[id] || !named[other] {
		t.Errorf("the watch named %v", ids)
	}

	// A Chat that begins has the numbers at once; what changes without a Chat reaches all.
	third := r.create("Say hello.")
	if c := r.view(third).Chat; c.Diff == nil || *c.Diff != want {
		t.Errorf("a new chat has %+v", c.Diff)
	}
	r.rest(third)
	if err := os.Remove(filepath.Join(r.dir, "a")); err != nil {
		t.Fatal(err)
	}
	r.engine.Changed(r.space)
	for _, id := range []chat.ID{id, other, third} {
		r.differs(id, chat.DiffStatus{Additions: 2, Deletions: 1, Files: 2, Branch: "main"})
	}
}

// TestDiffStatusGoes: an archived Chat keeps what it had and learns it when it comes back; one that leaves the Workspace has none.
func TestDiffStatusGoes(t *testing.T) {
	r := newRig(t, setup{place: true, bounds: engine.Bounds{DiffEvery: time.Millisecond}, model: scripted.Model{Answer: writesWhenAsked}})
	r.git("init", "-q", "-b", "main")
	gone, stays := r.create("Say hello."), r.create("Say hello.")
	r.rest(gone)
	r.rest(stays)
	r.differs(gone, chat.DiffStatus{Branch: "main"})
	r.amend(engine.AmendInput{ChatID: gone, Archived: new(true)})
	r.write("b", "1\n")
	r.engine.Changed(r.space)
	want := chat.DiffStatus{Additions: 1, Files: 1, Branch: "main"}
	r.differs(stays, want)
	if c := r.view(gone).Chat; *c.Diff != (chat.DiffStatus{Branch: "main"}) {
		t.Errorf("the archived chat has %+v", c.Diff)
	}
	r.amend(engine.AmendInput{ChatID: gone, Archived: new(false)})
	r.differs(gone, want)
	r.amend(engine.AmendInput{ChatID: gone, WorkspaceID: new(chat.WorkspaceID(""))})
	if c := r.view(gone).Chat; c.Diff != nil {
		t.Errorf("without a workspace it has %+v", c.Diff)
	}
	// A folder that is no repository any more differs from nothing.
	if err := os.RemoveAll(filepath.Join(r.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	r.engine.Changed(r.space)
	r.until(stays, "no diff status", func(v engine.View) bool { return v.Chat.Diff == nil })
}

// TestDiffStatusIsNewWhenTheSumsAreNot: the page asks again for what differs when the Chat has another Version.
func TestDiffStatusIsNewWhenTheSumsAreNot(t *testing.T) {
	r := newRig(t, setup{place: true, bounds: engine.Bounds{DiffEvery: time.Millisecond}, model: scripted.Model{Answer: writesWhenAsked}})
	r.git("init", "-q", "-b", "main")
	r.write("a", "1\n")
	id := r.create("Say hello.")
	r.rest(id)
	want := chat.DiffStatus{Additions: 1, Files: 1, Branch: "main"}
	r.differs(id, want)
	for name, change := range map[string]func(){
		"another line":  func() { r.write("a", "22\n") },
		"another state": func() { r.git("add", "a"); r.write("a", "333\n") },
	} {
		before := r.view(id).Chat
		change()
		r.engine.Changed(r.space)
		v := r.until(id, name, func(v engine.View) bool { return v.Chat.DiffMark != before.DiffMark })
		if v.Chat.Version <= before.Version || *v.Chat.Diff != want {
			t.Errorf("%s: version %d after %d, %+v", name, v.Chat.Version, before.Version, *v.Chat.Diff)
		}
	}
}

// TestAFailedLookAtARepositoryIsRepeated: nobody has to change a file again before the Chat says what differs.
func TestAFailedLookAtARepositoryIsRepeated(t *testing.T) {
	var well atomic.Bool
	failed := make(chan struct{}, 64)
	// After the four that are waited for, the further tries take eleven seconds.
	r := newRig(t, setup{place: true, bounds: engine.Bounds{DiffEvery: 100 * time.Millisecond}, model: scripted.Model{Answer: writesWhenAsked},
		opening: func(open engine.OpenWorkspace) engine.OpenWorkspace {
			return func(ctx context.Context, id chat.WorkspaceID) (chat.Workspace, error) {
				if well.Load() {
					return open(ctx, id)
				}
				failed <- struct{}{}
				return nil, &chat.Error{Kind: chat.KindUnavailable, Message: "The workspace is away."}
			}
		}})
	r.git("init", "-q", "-b", "main")
	r.write("a", "1\n")
	id := r.create("Say hello.")
	// The Turn itself opens it too, at most twice.
	for range 4 {
		<-failed
	}
	if c := r.view(id).Chat; c.Diff != nil {
		t.Errorf("without a look it has %+v", *c.Diff)
	}
	well.Store(true)
	r.differs(id, chat.DiffStatus{Additions: 1, Files: 1, Branch: "main"})
}

// stuck is a Workspace whose repositories give no answer.
type stuck struct {
	chat.Workspace
	gone chan struct{}
}

func (s stuck) Git() chat.Git { return stuckGit{s.Workspace.Git(), s.gone} }

type stuckGit struct {
	chat.Git
	gone chan struct{}
}

func (g stuckGit) Status(ctx context.Context) ([]chat.RepoStatus, error) {
	<-ctx.Done()
	select {
	case g.gone <- struct{}{}:
	default:
	}
	return nil, context.Cause(ctx)
}

// TestARepositoryThatNeverAnswers: it is given up in time, so that the loop that reads all Workspaces goes on.
func TestARepositoryThatNeverAnswers(t *testing.T) {
	gone := make(chan struct{}, 1)
	r := prepareRig(t, setup{place: true, bounds: engine.Bounds{DiffEvery: time.Millisecond}, model: scripted.Model{Answer: writesWhenAsked},
		opening: func(open engine.OpenWorkspace) engine.OpenWorkspace {
			return func(ctx context.Context, id chat.WorkspaceID) (chat.Workspace, error) {
				w, err := open(ctx, id)
				return stuck{w, gone}, err
			}
		}})
	r.engine.LookWithin(20 * time.Millisecond)
	r.start()
	r.rest(r.create("Say hello."))
	for range 2 {
		r.engine.Changed(r.space)
		select {
		case <-gone:
		case <-time.After(time.Minute):
			t.Fatal("the look goes on")
		}
	}
}

func (r *rig) amend(in engine.AmendInput) {
	r.t.Helper()
	if _, err := r.engine.Amend(r.t.Context(), r.who, in); err != nil {
		r.t.Fatal(err)
	}
}
