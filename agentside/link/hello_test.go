package link

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

// TestCase60Agree: another major version is refused with both numbers; of the rest both sides do what both can.
func TestCase60Agree(t *testing.T) {
	mine := Hello{Major: 1, Minor: 1, Capabilities: []string{CapProcesses, CapFiles, CapPush}}
	for _, c := range []struct {
		theirs Hello
		want   string
	}{
		{Hello{Major: 1, Minor: 1, Capabilities: []string{CapFiles, CapPush, CapProcesses, "new/7"}}, "1 [context.push/1 files/1 proc/1]"},
		{Hello{Major: 1, Minor: 0, Capabilities: []string{CapFiles, CapPush}}, "0 [files/1]"},
		{Hello{Major: 1, Minor: 9, Capabilities: []string{CapGit}}, "1 []"},
		{Hello{Major: 1, Minor: 1}, "1 []"},
		{Hello{Major: 2, Minor: 1, Capabilities: []string{CapFiles}}, "version 2 of the link, this one version 1"},
		{Hello{}, "version 0 of the link, this one version 1"},
	} {
		terms, err := Agree(mine, c.theirs)
		got := fmt.Sprint(terms.Minor, " ", terms.Capabilities)
		var version *VersionError
		if errors.As(err, &version) {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s, want %s", c.theirs, got, c.want)
		}
		if other, otherErr := Agree(c.theirs, mine); (err == nil) != (otherErr == nil) || fmt.Sprint(other) != fmt.Sprint(terms) {
			t.Errorf("%+v: the sides disagree: %v and %v", c.theirs, terms, other)
		}
	}
}

func TestHelloOnTheWire(t *testing.T) {
	h := Hello{Major: 1, Minor: 1, Capabilities: []string{CapFiles}, BootID: "b", BinaryVersion: "v1", OS: "linux", Arch: "amd64", Shell: "/bin/bash", Sandbox: "partial",
		SandboxOpen: []string{"network"}, SandboxReason: "no namespaces"}
	if got := helloFrom(h.toWire()); fmt.Sprint(got) != fmt.Sprint(h) || got.check() != nil {
		t.Errorf("%+v became %+v, %v", h, got, got.check())
	}
	for name, bad := range map[string]Hello{"no boot": {}, "long": {BootID: strings.Repeat("x", 129)}, "escape": {BootID: "b", OS: "\x1b[2J"},
		"many":      {BootID: "b", Capabilities: make([]string, 65)},
		"much open": {BootID: "b", SandboxOpen: make([]string, 33)}, "a long reason": {BootID: "b", SandboxReason: strings.Repeat("x", 513)}, "empty": helloFrom(nil)} {
		if bad.check() == nil {
			t.Errorf("%s is taken: %+v", name, bad)
		}
	}
}

func TestProof(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name       string
		key        ed25519.PublicKey
		askID      chat.AgentID
		askPeer    PeerKey
		proven, ok bool
	}{
		{"as it should be", public, "a1", PeerKey{1}, true, true},
		{"another key", other, "a1", PeerKey{1}, false, false},
		{"no key", nil, "a1", PeerKey{1}, false, false},
		{"another agent", public, "a2", PeerKey{1}, false, false},
		{"passed on by somebody between", public, "a1", PeerKey{2}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			asked := make(chan error, 1)
			go func() {
				err := challenge(ours, c.askID, c.key, c.askPeer, time.Minute)
				_ = ours.Close()
				asked <- err
			}()
			proveErr := prove(theirs, "a1", private, PeerKey{1}, time.Minute)
			askErr := <-asked
			_ = theirs.Close()
			if (askErr == nil) != c.ok || (proveErr == nil) != c.ok || !c.ok && !errors.Is(askErr, ErrProof) {
				t.Errorf("asked: %v, proved: %v", askErr, proveErr)
			}
		})
	}
}

// TestProofHasATime: neither side waits for ever.
func TestProofHasATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := net.Pipe()
		defer ours.Close()
		defer theirs.Close()
		began := time.Now()
		if err := challenge(ours, "a1", nil, PeerKey{}, 10*time.Second); err == nil || time.Since(began) != 10*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if err := prove(theirs, "a1", private, PeerKey{}, 10*time.Second); err == nil || time.Since(began) != 20*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}
