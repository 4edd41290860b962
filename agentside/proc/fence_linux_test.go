package proc

import (
	"testing"
	"time"

	"holdfast/engine/chat"
)

// TestCase51Fence: what is fenced before it begins never begins; what runs is ended; what is another Chat's is unknown.
func TestCase51Fence(t *testing.T) {
	b := newBench(t)
	if err := b.scope.Fence(t.Context(), "c1", "early", "terminate"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := b.scope.Start(t.Context(), chat.ProcessStart{ID: "early", ChatID: "c1", Command: "echo no"}); kindOf(err) != "conflict" {
			t.Fatalf("a fenced start: %v", err)
		}
	}
	if _, err := b.scope.Output(t.Context(), "c1", "early", 0, 0); kindOf(err) != "not_found" {
		t.Errorf("output of what never was: %v", err)
	}
	if _, err := b.scope.Start(t.Context(), chat.ProcessStart{ID: "runs", ChatID: "c1", Command: "sleep 1000"}); err != nil {
		t.Fatal(err)
	}
	if err := b.scope.Fence(t.Context(), "c2", "runs", "kill"); kindOf(err) != "not_found" {
		t.Errorf("another chat: %v", err)
	}
	if err := b.scope.Fence(t.Context(), "c1", "runs", "kill"); err != nil {
		t.Fatal(err)
	}
	out, err := b.scope.Output(t.Context(), "c1", "runs", 0, time.Minute)
	if err != nil || out.Running || out.ExitCode != 137 {
		t.Errorf("%+v, %v", out, err)
	}
	if err := b.scope.Fence(t.Context(), "c1", "runs", "kill"); err != nil {
		t.Errorf("what has ended: %v", err)
	}
}
