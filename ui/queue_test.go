package ui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// held is a Chat of the owner's that rests in error with this queue; it gives the address of the Chat and the ids.
func (p *pages) held(contents ...[]chat.Part) (at string, ids []chat.MessageID) {
	p.t.Helper()
	c := &chat.Chat{ID: chat.ID(uuid.Must(uuid.NewV7()).String()), OwnerID: p.owner.UserID, Title: "t", State: chat.Failed,
		LastError: &chat.Error{Kind: chat.KindGeneric, Message: "m"}}
	c.RootID = c.ID
	p.update(func(tx *kv.Tx) error {
		var queue []*chat.QueuedMessage
		for _, content := range contents {
			id, err := tx.NextID()
			if err != nil {
				return err
			}
			ids = append(ids, id)
			queue = append(queue, &chat.QueuedMessage{ID: id, ChatID: c.ID, CreatedBy: c.OwnerID, CreatedAt: time.Now().UTC(), Content: content})
		}
		if err := tx.PutQueue(c, queue); err != nil {
			return err
		}
		return tx.PutChat(c)
	})
	return "/chats/" + string(c.ID), ids
}

// TestQueuedMessagesAreWrittenAnew: the form comes with the text, a new text keeps place and references, and what is gone is 404.
func TestQueuedMessagesAreWrittenAnew(t *testing.T) {
	p := newPages(t)
	owner := p.token(p.owner.UserID)
	text := func(s string) chat.Part { return chat.Part{Type: chat.PartText, Text: s} }
	long := strings.Repeat("word ", 200)
	at, ids := p.held([]chat.Part{text("first <b>"), {Type: chat.PartFileReference, FileName: "a.go", StartLine: 1, EndLine: 2, Content: "x"}}, []chat.Part{text(long)})
	one := fmt.Sprint(at, "/queue/", ids[0])
	status, body := p.look(owner, one+"/edit")
	if status != http.StatusOK {
		t.Fatalf("the form: %d %s", status, body)
	}
	holds(t, "the form", body, ">first &lt;b&gt;</textarea>", "required")
	holds(t, "the form", body, "Keeps its place, and the lines and files named with it.", "")
	_, body = p.look(owner, fmt.Sprint(at, "/queue/", ids[1], "/edit"))
	holds(t, "the form of the other", body, long, "named with it")
	second := fmt.Sprint(at, "/queue/", ids[1], "/edit")
	if status, body := p.act(owner, second, url.Values{"text": {" \n "}}); status != http.StatusOK || !strings.Contains(body, `id="queue-edit-error"`) {
		t.Errorf("a blank text: %d %s", status, body)
	}
	if status, _ := p.act(owner, second, url.Values{"text": {"second thoughts"}}); status != http.StatusNoContent {
		t.Errorf("save the other: %d", status)
	}
	if status, _ := p.act(owner, one+"/edit", url.Values{"text": {"rewritten"}}); status != http.StatusNoContent {
		t.Errorf("save: %d", status)
	}
	var queue []*chat.QueuedMessage
	p.update(func(tx *kv.Tx) (err error) {
		queue, err = tx.Queue(chat.ID(strings.TrimPrefix(at, "/chats/")))
		return err
	})
	if len(queue) != 2 || queue[0].ID != ids[0] || len(queue[0].Content) != 2 || queue[0].Content[0].Text != "rewritten" || queue[0].Content[1].FileName != "a.go" ||
		chat.PlainText(queue[1].Content) != "second thoughts" {
		t.Errorf("the queue is %+v", queue)
	}
	_, other := p.person("jo", chat.UserMember)
	for _, path := range []string{one + "/edit", at + "/queue/1/edit", at + "/queue/x/edit"} {
		token := owner
		if path == one+"/edit" {
			token = other
		}
		if status, _ := p.look(token, path); status != http.StatusNotFound {
			t.Errorf("GET %s: %d", path, status)
		}
		if status, _ := p.act(token, path, url.Values{"text": {"x"}}); status != http.StatusNotFound {
			t.Errorf("POST %s: %d", path, status)
		}
	}
	if status, _ := p.act(owner, one+"/delete", nil); status != http.StatusNoContent {
		t.Errorf("delete: %d", status)
	}
	if status, _ := p.act(owner, one+"/edit", url.Values{"text": {"too late"}}); status != http.StatusNotFound {
		t.Errorf("save what is gone: %d", status)
	}
}
