package agentside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"holdfast/engine/chat"
)

// A clone calls the host of its address only when it may, whatever form the address has; a path calls nobody.
func TestCloneAsksForItsHost(t *testing.T) {
	refused := errors.New("it is offline")
	var asked string
	w, err := New(t.Context(), Options{Data: t.TempDir(), Temp: t.TempDir(), MayCall: func(_ context.Context, host string, port int) error {
		asked = fmt.Sprint(host, " ", port)
		return refused
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	parent := t.TempDir()
	for source, want := range map[string]string{"https://example.org/tide.git": "example.org 443", "https://example.org:8443/tide.git": "example.org 8443",
		"ssh://git@example.org/tide.git": "example.org 22", "ssh://git@[2001:db8::1]:2222/tide": "2001:db8::1 2222", "git@example.org:a@b.net:tide.git": "example.org 22",
		"example.org:tide": "example.org 22"} {
		asked = ""
		_, err := w.Make(t.Context(), chat.WorkspaceRecord{Name: "tide", Made: chat.Making{Kind: chat.TemplateClone, Source: source, Parent: parent}}, func(string) {})
		if !errors.Is(err, refused) || asked != want {
			t.Errorf("%s asks for %q, %v", source, asked, err)
		}
	}
	if list, err := os.ReadDir(parent); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
	asked = ""
	if _, err := w.Make(t.Context(), chat.WorkspaceRecord{Name: "tide", Made: chat.Making{Kind: chat.TemplateClone, Source: t.TempDir(), Parent: parent}}, func(string) {}); errors.Is(err, refused) || asked != "" {
		t.Errorf("a path asks for %q, %v", asked, err)
	}
}
