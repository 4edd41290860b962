package outbound

import (
	"net/http"
	"testing"

	"holdfast/engine/chat"
)

// TestWhatAnotherProgramNeverBeganDidNotLeave: a pull that a dead model server never began is in the ledger as one that it was asked for; the host counts
// as called once it begins.
func TestWhatAnotherProgramNeverBeganDidNotLeave(t *testing.T) {
	r := newRig(t, chat.OutboundAsk, http.NotFoundHandler())
	pull := Purpose{Name: "model pull", Declared: true}
	began, err := r.Hand(t.Context(), pull, "registry.ollama.ai", 443)
	if err != nil {
		t.Fatal(err)
	}
	left := func() int {
		t.Helper()
		out, err := r.Left(t.Context(), chat.Principal{Role: chat.UserAdmin}, LeftInput{})
		if err != nil {
			t.Fatal(err)
		}
		return out.Count
	}
	out := r.report(t)
	if left() != 0 || out.Called() || len(out.Hosts) != 1 || out.Hosts[0].Entries[0].Reason != reasonHanded || out.Hosts[0].Waits {
		t.Errorf("before it began: %+v", out.Hosts)
	}
	began()
	if out := r.report(t); left() != 1 || !out.Called() {
		t.Errorf("when it had begun: %+v", out.Hosts)
	}
	deny := newRig(t, chat.OutboundDeny, http.NotFoundHandler())
	if _, err := deny.Hand(t.Context(), pull, "registry.ollama.ai", 443); kind(err) != chat.KindOutboundDenied {
		t.Errorf("offline: %v", err)
	}
}
