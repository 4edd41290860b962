package snapshot

import (
	"errors"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func ok(source, text string) chat.Resource {
	return chat.Resource{Kind: chat.ResourceInstructionFile, Source: source, Status: chat.ResourceOK, SizeBytes: int64(len(text)),
		ContentHash: chat.FileHash([]byte(text)), Payload: []byte(text)}
}

// TestWhatIsPushedIsComputedAgain: each limit and each statement about itself that a Snapshot may get wrong.
func TestWhatIsPushedIsComputedAgain(t *testing.T) {
	for name, change := range map[string]func(*chat.Snapshot){
		"not ready":             func(s *chat.Snapshot) { s.Ready = false },
		"an error of no text":   func(s *chat.Snapshot) { s.Error = "\xff" },
		"twice the same":        func(s *chat.Snapshot) { s.Resources = append(s.Resources, s.Resources[0]) },
		"an unknown status":     func(s *chat.Snapshot) { s.Resources[0].Status = "fine" },
		"no reason":             func(s *chat.Snapshot) { s.Resources[1].Error = " " },
		"no source":             func(s *chat.Snapshot) { s.Resources[0].Source = "" },
		"a long source":         func(s *chat.Snapshot) { s.Resources[0].Source = strings.Repeat("x", 1025) },
		"a long error":          func(s *chat.Snapshot) { s.Resources[1].Error = strings.Repeat("x", 4097) },
		"a long name":           func(s *chat.Snapshot) { s.Resources[0].Name = strings.Repeat("x", 65) },
		"a long description":    func(s *chat.Snapshot) { s.Resources[0].Description = strings.Repeat("é", 1025) },
		"a payload without ok":  func(s *chat.Snapshot) { s.Resources[1].Payload = []byte("x") },
		"tools without ok":      func(s *chat.Snapshot) { s.Resources[1].Tools = []chat.ResourceTool{{Name: "t"}} },
		"a large payload":       func(s *chat.Snapshot) { s.Resources[0] = ok("/w/AGENTS.md", strings.Repeat("x", 65537)) },
		"another payload":       func(s *chat.Snapshot) { s.Resources[0].Payload = []byte("other") },
		"another size":          func(s *chat.Snapshot) { s.Resources[0].SizeBytes++ },
		"a payload of a server": func(s *chat.Snapshot) { s.Resources[0].Kind = chat.ResourceMCPConfig },
		"another sum":           func(s *chat.Snapshot) { s.AggregateHash[0]++ },
		"too much": func(s *chat.Snapshot) {
			for i := range 33 {
				s.Resources = append(s.Resources, ok("/w/"+strings.Repeat("d", i+1), strings.Repeat("x", 65536)))
			}
		},
	} {
		s := chat.Snapshot{Ready: true, Resources: []chat.Resource{ok("/w/AGENTS.md", "text"),
			{Kind: chat.ResourceSkill, Source: "/w/skills/x", Status: chat.ResourceInvalid, Error: "bad"}}}
		before := s.AggregateHash
		change(&s)
		if s.AggregateHash == before {
			s.AggregateHash = chat.AggregateHash(s.Resources)
		}
		_, err := checked(s)
		var refused *chat.Error
		if !errors.As(err, &refused) || refused.Kind != chat.KindInvalid {
			t.Errorf("%s was taken: %v", name, err)
		}
	}
	good := chat.Snapshot{Ready: true, PayloadBytes: 99, Resources: []chat.Resource{ok("/w/b", "bb"), ok("/w/a", "")}}
	good.AggregateHash = chat.AggregateHash(good.Resources)
	got, err := checked(good)
	if err != nil || got.PayloadBytes != 2 || got.Resources[0].Source != "/w/a" {
		t.Errorf("a good one: %v, %d bytes, %s first", err, got.PayloadBytes, got.Resources[0].Source)
	}
}

func TestChangesAreThoseThatMarkAChat(t *testing.T) {
	server := chat.Resource{Kind: chat.ResourceMCPServer, Source: "s", Status: chat.ResourceOK}
	was := []chat.Resource{ok("/same", "x"), ok("/edited", "x"), ok("/gone", "x"), server}
	server.Status, server.Error = chat.ResourceUnreadable, "away"
	now := []chat.Resource{ok("/same", "x"), ok("/edited", "y"), ok("/new", "x"), server}
	got := map[string]ChangeKind{}
	for _, c := range changes(was, now) {
		got[c.Resource.Source] = c.Kind
		if c.Resource.Payload != nil {
			t.Error("a change carries content")
		}
	}
	if len(got) != 3 || got["/edited"] != Edited || got["/gone"] != Removed || got["/new"] != Added {
		t.Errorf("%v", got)
	}
}
