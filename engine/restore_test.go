package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

// TestRestore: files go back to what they were before a Message's Turn; what somebody else changed since is left and named.
func TestRestore(t *testing.T) {
	write := func(path, content string) scripted.Call {
		return toolCall("write_file", `{"path":"`+path+`","content":"`+content+`\n"}`)
	}
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case len(p.Results()) == 1 && p.User() == "one", len(p.Results()) == 0 && p.User() != "one":
			switch p.User() {
			case "one":
				return scripted.Calls(write("a.txt", "a1"), write("new.txt", "n1"), write("b.txt", "b1"))
			case "two":
				return scripted.Calls(write("a.txt", "a2"), write("c.txt", "c2"))
			}
		case len(p.Results()) == 0:
			return scripted.Calls(toolCall("execute", `{"command":"cat a.txt b.txt"}`))
		}
		return scripted.Text("done")
	}}})
	r.write("a.txt", "a0\n")
	r.write("b.txt", "b0\n")
	id := r.create("one")
	first := r.rest(id)
	if strings.Contains(transcript(first.Messages), `"error"`) {
		// A file that was never read is refused once; the second try overwrites it.
		r.send(id, "one", "")
		first = r.rest(id)
	}
	r.send(id, "two", "")
	v := r.rest(id)
	if got := r.read("a.txt") + r.read("b.txt") + r.read("new.txt") + r.read("c.txt"); got != "a2\nb1\nn1\nc2\n" {
		t.Fatalf("the files are %q\n%s", got, transcript(v.Messages))
	}
	users := userIDs(v)
	from := users[0]
	if v.Restorable[from] != 4 || v.Restorable[users[len(users)-1]] != 2 {
		t.Errorf("restorable: %v", v.Restorable)
	}
	r.write("b.txt", "somebody else\n")
	out, err := r.engine.Restore(context.Background(), r.who, engine.RestoreInput{ChatID: id, Message: from})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out.Restored)
	if strings.Join(out.Restored, " ") != "a.txt c.txt new.txt" || strings.Join(out.Skipped, " ") != "b.txt" {
		t.Errorf("%+v", out)
	}
	if got := r.read("a.txt") + r.read("b.txt") + r.read("new.txt") + r.read("c.txt"); got != "a0\nsomebody else\n(none)(none)" {
		t.Errorf("the files are %q", got)
	}
	if _, err := r.engine.Restore(context.Background(), r.who, engine.RestoreInput{ChatID: id, Message: from + 1000}); !isKind(err, chat.KindNotFound) {
		t.Errorf("nothing to restore: %v", err)
	}
}

func userIDs(v engine.View) (ids []chat.MessageID) {
	for _, m := range v.Messages {
		if m.Role == chat.RoleUser {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func TestRestoreWaitsForRest(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(scripted.Calls(toolCall("write_file", `{"path":"x","content":"y"}`)),
		stalled(scripted.Words("on and on")))}})
	id := r.create("go")
	v := r.until(id, "streamed text", streamed("on and on"))
	in := engine.RestoreInput{ChatID: id, Message: v.Messages[0].ID}
	if _, err := r.engine.Restore(context.Background(), r.who, in); !isKind(err, chat.KindWrongState) {
		t.Errorf("%v", err)
	}
	r.interrupt(id)
	r.rest(id)
	if out, err := r.engine.Restore(context.Background(), r.who, in); err != nil || len(out.Restored) != 1 || r.read("x") != "(none)" {
		t.Errorf("%+v %v", out, err)
	}
}

// TestWhatAnInterruptedStepReadIsKnown: the next Turn may change a file that an interrupted Step has read.
func TestWhatAnInterruptedStepReadIsKnown(t *testing.T) {
	gate, running, _ := blocked("gate", chat.ClassRead, false)
	r := newRig(t, setup{place: true, tools: []chat.Tool{gate}, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("read_file", `{"path":"a.txt"}`), toolCall("gate", `{}`)),
		scripted.Calls(toolCall("write_file", `{"path":"a.txt","content":"new\n"}`)), scripted.Text("done"))}})
	r.write("a.txt", "old\n")
	id := r.create("go")
	<-running
	r.until(id, "the file", func(v engine.View) bool {
		return v.Draft != nil && len(v.Draft.Parts) > 2 && v.Draft.Parts[2].Result != nil
	})
	r.interrupt(id)
	r.rest(id)
	r.send(id, "write", "")
	if v := r.rest(id); r.read("a.txt") != "new\n" {
		t.Errorf("%s", transcript(v.Messages))
	}
}

// TestARestoreIsUndone: also where the newest Turn changed the same file, and where restoring removed one.
func TestARestoreIsUndone(t *testing.T) {
	write := func(p *scripted.Prompt) scripted.Reply {
		if len(p.Results()) > 0 {
			return scripted.Text("done")
		}
		return scripted.Calls(toolCall("write_file", `{"path":"new.txt","content":"`+p.User()+`"}`))
	}
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: write}})
	id := r.create("one")
	v := r.rest(id)
	r.send(id, "two", "")
	r.rest(id)
	restore := func(at chat.MessageID) engine.RestoreOutput {
		t.Helper()
		out, err := r.engine.Restore(context.Background(), r.who, engine.RestoreInput{ChatID: id, Message: at})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Restored) != 1 || len(out.Skipped) != 0 || out.Undo == 0 {
			t.Fatalf("%+v", out)
		}
		return out
	}
	for range 2 {
		first := restore(v.Messages[0].ID)
		if got := r.read("new.txt"); got != "(none)" {
			t.Errorf("restored to %q", got)
		}
		again := restore(first.Undo)
		if got := r.read("new.txt"); got != "two" {
			t.Errorf("undone to %q", got)
		}
		restore(again.Undo)
		if got := r.read("new.txt"); got != "(none)" {
			t.Errorf("the undo undone gives %q", got)
		}
		restore(first.Undo)
		if got := r.read("new.txt"); got != "two" {
			t.Errorf("and once more %q", got)
		}
	}
}

// TestARestoreIsDoneWhereTheFileIs: a Chat that works in another folder by now restores in the one where it changed the file.
func TestARestoreIsDoneWhereTheFileIs(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		if len(p.Results()) > 0 {
			return scripted.Text("done")
		}
		return scripted.Calls(toolCall("write_file", `{"path":"x","content":"`+p.User()+`"}`))
	}}})
	id := r.create("one")
	first := r.rest(id).Messages[0].ID
	other := &chat.WorkspaceRecord{ID: chat.WorkspaceID(newID()), OwnerID: r.who.UserID, Name: "other", Kind: chat.WorkspaceLocal, Directory: t.TempDir(),
		Trusted: true, CreatedAt: time.Now().UTC()}
	r.update(func(tx *kv.Tx) error { return tx.PutWorkspace(other) })
	if _, err := r.engine.Amend(context.Background(), r.who, engine.AmendInput{ChatID: id, WorkspaceID: &other.ID}); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(other.Directory, "x")
	if err := os.WriteFile(there, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	changes, err := r.engine.Changes(context.Background(), r.who, engine.ChangesInput{ChatID: id})
	if err != nil || len(changes.Files) != 0 {
		t.Errorf("changes of another folder: %+v %v", changes, err)
	}
	out, err := r.engine.Restore(context.Background(), r.who, engine.RestoreInput{ChatID: id, Message: first})
	if err != nil || len(out.Restored) != 1 || r.read("x") != "(none)" {
		t.Errorf("%+v %v, the file is %q", out, err, r.read("x"))
	}
	if b, err := os.ReadFile(there); err != nil || string(b) != "one" {
		t.Errorf("the other folder: %q %v", b, err)
	}
	// A file of the same name in both is two files; an edit keeps both for the Message in the place of the others.
	r.write("x", "two")
	r.send(id, "two", "")
	r.rest(id)
	if n := r.view(id).Restorable[first]; n != 2 {
		t.Errorf("%d files can be restored", n)
	}
	edited := r.edit(id, first, "three").Message.ID
	if v := r.rest(id); v.Restorable[edited] != 2 {
		t.Errorf("after the edit: %v", v.Restorable)
	}
}
