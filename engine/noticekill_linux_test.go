package engine_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/notice"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

// deadly is the model of the process that dies: it fails, asks for a command, or says one sentence.
func deadly(p *scripted.Prompt) scripted.Reply {
	switch p.User() {
	case string(chat.NoticeFailed):
		return scripted.Reply{Status: 404, Error: "model not found"}
	case string(chat.NoticeActionRequired):
		return scripted.Calls(toolCall("execute", `{"command":"true"}`))
	}
	return scripted.Text("Well.")
}

// TestChildToKillBeforeTelling is the process that TestCase68OwedNoticesOutliveAKill starts: it kills itself between the commit of what is worth telling and
// the telling. Alone it does nothing.
func TestChildToKillBeforeTelling(t *testing.T) {
	dir, kind, found := strings.Cut(os.Getenv(childDir), "|")
	if !found {
		return
	}
	var r *rig
	r = prepareRig(t, setup{place: true, untrusted: true, model: scripted.Model{Answer: deadly},
		notify: func(n chat.Notice) { t.Errorf("told %+v", n) },
		committed: func(id chat.ID) {
			var c *chat.Chat
			err := r.store.View(t.Context(), func(tx *kv.Tx) (err error) {
				c, _, err = tx.Chat(id)
				return err
			})
			if err != nil || !c.State.AtRest() && c.State != chat.RequiresAction {
				return
			}
			if err := errors.Join(os.WriteFile(dir+"/id", []byte(string(id)+" "+string(r.who.UserID)), 0o600), syscall.Kill(os.Getpid(), syscall.SIGKILL)); err != nil {
				t.Error(err)
			}
			select {}
		}})
	space := r.space
	r.moveTo(dir)
	r.update(func(tx *kv.Tx) error {
		return tx.PutWorkspace(&chat.WorkspaceRecord{ID: space, OwnerID: r.who.UserID, Name: "w", Kind: chat.WorkspaceLocal, Directory: r.dir, CreatedAt: time.Now().UTC()})
	})
	r.start()
	r.until(r.create(kind), "the kill", func(engine.View) bool { return false })
}

// TestCase68OwedNoticesOutliveAKill: that a Turn failed, waits for somebody or is over without a summary to wait for is told by the next process where the one
// before was killed between the commit and the telling, and by none after that.
func TestCase68OwedNoticesOutliveAKill(t *testing.T) {
	for _, kind := range chat.NoticeKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			child := exec.Command(os.Args[0], "-test.run=^TestChildToKillBeforeTelling$", "-test.timeout=90s")
			child.Env = append(os.Environ(), childDir+"="+dir+"|"+string(kind), childTemp(t))
			out, err := child.CombinedOutput()
			var died *exec.ExitError
			if !errors.As(err, &died) || died.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child was not killed: %v\n%s", err, out)
			}
			said, err := os.ReadFile(dir + "/id")
			if err != nil {
				t.Fatal(err)
			}
			id, user, _ := strings.Cut(string(said), " ")
			told := make(chan chat.Notice, 4)
			r := prepareRig(t, setup{model: scripted.Model{Answer: deadly}, notify: func(n chat.Notice) { told <- n }})
			r.moveTo(dir)
			r.who.UserID = chat.UserID(user)
			r.start()
			select {
			case n := <-told:
				body := map[chat.NoticeKind]string{chat.NoticeFailed: "is not on the model server", chat.NoticeActionRequired: "Waits for you: execute", chat.NoticeFinished: "Well."}[kind]
				if n.Kind != kind || string(n.Chat) != id || n.User != r.who.UserID || n.Title == "" || !strings.Contains(n.Body, body) {
					t.Errorf("told %+v", n)
				}
			default:
				t.Fatal("nothing was told")
			}
			r.reopen()
			r.start()
			// What the engine owes is told before it starts to work.
			if len(told) != 0 {
				t.Errorf("told once more: %s", fmt.Sprint(<-told))
			}
		})
	}
}

// TestChildToKillWhileTelling is the process that TestATakenNoticeOutlivesAKill starts: it kills itself when it is about to tell what it took out of
// what is owed. Alone it does nothing.
func TestChildToKillWhileTelling(t *testing.T) {
	dir, kind, found := strings.Cut(os.Getenv(childDir), "|")
	if !found {
		return
	}
	r := prepareRig(t, setup{place: true, untrusted: true, model: scripted.Model{Answer: deadly}, keep: notice.New(metric.New(), time.Now()).Keep,
		notify: func(n chat.Notice) {
			if err := errors.Join(os.WriteFile(dir+"/id", []byte(string(n.Chat)+" "+string(n.User)), 0o600), syscall.Kill(os.Getpid(), syscall.SIGKILL)); err != nil {
				t.Error(err)
			}
			select {}
		}})
	space := r.space
	r.moveTo(dir)
	r.update(func(tx *kv.Tx) error {
		return tx.PutWorkspace(&chat.WorkspaceRecord{ID: space, OwnerID: r.who.UserID, Name: "w", Kind: chat.WorkspaceLocal, Directory: r.dir, CreatedAt: time.Now().UTC()})
	})
	r.start()
	r.until(r.create(kind), "the kill", func(engine.View) bool { return false })
}

// TestATakenNoticeOutlivesAKill: what was taken out of what is owed is in its person's list, once, also where the process was killed before it told it.
func TestATakenNoticeOutlivesAKill(t *testing.T) {
	for _, kind := range chat.NoticeKinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			child := exec.Command(os.Args[0], "-test.run=^TestChildToKillWhileTelling$", "-test.timeout=90s")
			child.Env = append(os.Environ(), childDir+"="+dir+"|"+string(kind), childTemp(t))
			out, err := child.CombinedOutput()
			var died *exec.ExitError
			if !errors.As(err, &died) || died.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child was not killed: %v\n%s", err, out)
			}
			said, err := os.ReadFile(dir + "/id")
			if err != nil {
				t.Fatal(err)
			}
			id, user, _ := strings.Cut(string(said), " ")
			told := make(chan chat.Notice, 4)
			r := prepareRig(t, setup{model: scripted.Model{Answer: deadly}, keep: notice.New(metric.New(), time.Now()).Keep, notify: func(n chat.Notice) { told <- n }})
			r.moveTo(dir)
			r.who.UserID = chat.UserID(user)
			r.start()
			if len(told) != 0 {
				t.Errorf("told once more: %+v", <-told)
			}
			var all []*chat.KeptNotice
			r.update(func(tx *kv.Tx) (err error) {
				all, err = tx.Notices(r.who.UserID)
				return err
			})
			if len(all) != 1 || all[0].Kind != kind || string(all[0].Chat) != id || all[0].Body == "" {
				t.Errorf("the list has %+v", all)
			}
		})
	}
}
