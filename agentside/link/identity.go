package link

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"holdfast/engine/chat"
)

// Identity is who an Agent is: kept in its state directory, readable by nobody else.
type Identity struct {
	AgentID     chat.AgentID     `json:"agent_id,omitempty"`
	WorkspaceID chat.WorkspaceID `json:"workspace_id,omitempty"`
	// URL is the appliance that it enrolled with.
	URL string `json:"url,omitempty"`
	// Seed makes the key.
	Seed []byte `json:"seed"`
}

const identityName = "agent.json"

// Enrolled says whether an appliance knows this identity.
func (i Identity) Enrolled() bool { return i.AgentID != "" }

// Key is the private key.
func (i Identity) Key() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(i.Seed) }

// ReadIdentity gives the identity of a state directory, a new one where there is none. A file that others may read is refused.
func ReadIdentity(state string) (Identity, error) {
	path := filepath.Join(state, identityName)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		i := Identity{Seed: newSeed()}
		return i, i.write(state)
	}
	if err != nil {
		return Identity{}, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Identity{}, fmt.Errorf("%w: %s can be read by others; make it 0600, or remove it and enrol anew", ErrRefused, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Identity{}, err
	}
	var i Identity
	if err := json.Unmarshal(text, &i); err != nil || len(i.Seed) != ed25519.SeedSize {
		return Identity{}, fmt.Errorf("%s is damaged; remove it and enrol anew", path)
	}
	return i, nil
}

func newSeed() []byte {
	seed := make([]byte, ed25519.SeedSize)
	// crypto/rand.Read never fails.
	_, _ = rand.Read(seed)
	return seed
}

func (i Identity) write(state string) error {
	text, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(state, identityName), text)
}

// replaceFile writes a file that nobody else may read, whole or not at all.
func replaceFile(path string, text []byte) error {
	temp := path + ".tmp"
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return os.Rename(temp, path)
}

// ErrNotTaken is that the appliance refused an enrolment or a link for good.
var ErrNotTaken = errors.New("the appliance refuses this agent")

// Enrol uses a token to make the identity known to the appliance, and keeps what it says. One that is known already becomes a new one.
func Enrol(ctx context.Context, d Dialling, i Identity, state, token, host, directory string) (Identity, error) {
	if err := d.Check(); err != nil {
		return i, err
	}
	next := i
	if i.Enrolled() {
		// One that enrols anew does so under a new key, which is written when it counts.
		next = Identity{Seed: newSeed()}
	}
	public, ok := next.Key().Public().(ed25519.PublicKey)
	if !ok {
		return i, errors.New("the key of this agent is not one")
	}
	body, err := json.Marshal(EnrolRequest{Token: strings.TrimSpace(token), PublicKey: public, Host: host, Directory: directory})
	if err != nil {
		return i, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL.JoinPath(enrolPath).String(), bytes.NewReader(body))
	if err != nil {
		return i, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := d.client(Times{}.filled()).client.Do(req)
	if err != nil {
		return i, fmt.Errorf("reach the appliance: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return i, fmt.Errorf("read the appliance's answer: %w", err)
	}
	if p := (&reply{status: resp.StatusCode, body: text}).problem(); p != nil {
		return i, fmt.Errorf("%w: %s", ErrNotTaken, p.Message)
	}
	var out EnrolAnswer
	if err := json.Unmarshal(text, &out); err != nil || out.AgentID == "" || resp.StatusCode != http.StatusCreated {
		return i, errors.New("what answers at this address is no appliance")
	}
	next.AgentID, next.WorkspaceID, next.URL = out.AgentID, out.WorkspaceID, d.URL.String()
	return next, next.write(state)
}
