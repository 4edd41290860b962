package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/engine/workspace"
	"holdfast/kv"
)

const (
	// tokenPrefix begins an enrolment token.
	tokenPrefix = "hfe_"
	// enrolTime is how long a token is good.
	enrolTime = time.Hour
	maxAgents = 1000
	maxName   = 80
)

func compare(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) }

// EnrolInput names the Workspace that is to get an Agent, or gives the Name of a new one.
type EnrolInput struct {
	WorkspaceID chat.WorkspaceID `json:"workspace_id,omitempty"`
	Name        string           `json:"name,omitempty"`
}

// Enrolment has the token, for the only time, and the command that uses it.
type Enrolment struct {
	Token       string
	ExpiresAt   time.Time
	WorkspaceID chat.WorkspaceID
	Workspace   string
	// Command starts the Agent; it asks for the token. "" when Agents cannot reach this appliance.
	Command string
}

// Enrol makes a token for one Agent. An earlier one for the same Workspace is good no more.
func (r *Room) Enrol(ctx context.Context, p chat.Principal, in EnrolInput) (Enrolment, error) {
	if r.address.URL == "" {
		return Enrolment{}, &chat.Error{Kind: chat.KindWrongState, Message: "Agents cannot reach this appliance.",
			Detail: "Start it with --agents-listen and the address on which Agents call."}
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Enrolment{}, err
	}
	now := r.now().UTC()
	w := &chat.WorkspaceRecord{ID: chat.WorkspaceID(id.String()), OwnerID: p.UserID, Name: strings.TrimSpace(in.Name), Kind: chat.WorkspaceAgent,
		CreatedAt: now, State: chat.WorkspaceRunning}
	if in.WorkspaceID == "" {
		if err := checkName(w.Name); err != nil {
			return Enrolment{}, err
		}
	}
	secret := make([]byte, 32)
	// crypto/rand.Read never fails.
	_, _ = rand.Read(secret)
	token := tokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	e := &chat.AgentEnrolment{Hash: sha256.Sum256([]byte(token)), CreatedBy: p.UserID, CreatedAt: now, ExpiresAt: now.Add(enrolTime)}
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		if in.WorkspaceID != "" {
			old, found, err := tx.Workspace(in.WorkspaceID)
			if err != nil {
				return err
			}
			if !found || old.OwnerID != p.UserID {
				return chat.NotFound("workspace")
			}
			if old.Kind != chat.WorkspaceAgent {
				return chat.Invalid("workspace_id", "the workspace is a folder of this machine and needs no agent")
			}
			if old.MadeBeside() {
				return chat.Invalid("workspace_id", "the workspace was made beside an agent, which serves it")
			}
			w = old
		} else if err := tx.PutWorkspace(w); err != nil {
			return err
		}
		if all, err := tx.Agents(); err != nil || len(all) >= maxAgents {
			return orFull(err)
		}
		e.WorkspaceID = w.ID
		if err := tx.DeleteEnrolments(w.ID); err != nil {
			return err
		}
		return tx.PutEnrolment(e)
	})
	if r.touched(err) != nil {
		return Enrolment{}, err
	}
	return Enrolment{Token: token, ExpiresAt: e.ExpiresAt, WorkspaceID: w.ID, Workspace: w.Name, Command: r.address.command()}, nil
}

func orFull(err error) error {
	if err != nil {
		return err
	}
	return &chat.Error{Kind: chat.KindWrongState, Message: "There are too many agents.", Detail: fmt.Sprintf("At most %d; revoke some first.", maxAgents)}
}

// command starts an Agent in the folder where it is typed.
func (a Address) command() string {
	return "holdfast --agent --url " + a.URL + " --pin " + a.Pin + " --dir . --enrol-file -"
}

func checkName(name string) error {
	if name == "" {
		return chat.Invalid("name", "give the workspace a name")
	}
	if utf8.RuneCountInString(name) > maxName {
		return chat.Invalid("name", fmt.Sprintf("at most %d characters", maxName))
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return chat.Invalid("name", "one line of text")
	}
	return nil
}

// ClaimInput is what an Agent that enrols brings.
type ClaimInput struct {
	Token     string
	PublicKey []byte
	Host      string
	Directory string
}

// Claim uses up a token. A token that is unknown, used or expired is KindUnauthenticated, all alike. The Agent that the Workspace had is
// none any more.
//
//guard:none who enrols has a token and is nobody yet
func (r *Room) Claim(ctx context.Context, in ClaimInput) (chat.AgentRecord, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return chat.AgentRecord{}, err
	}
	now, hash := r.now().UTC(), chat.Hash(sha256.Sum256([]byte(in.Token)))
	// Who has no good token is told so without a turn among the writers: anybody who reaches the listener may ask.
	err = r.store.View(ctx, func(tx *kv.Tx) error {
		e, found, err := tx.Enrolment(hash)
		if err == nil && (!found || !now.Before(e.ExpiresAt)) {
			err = notGood()
		}
		return err
	})
	if err != nil {
		return chat.AgentRecord{}, err
	}
	a := &chat.AgentRecord{ID: chat.AgentID(id.String()), PublicKey: in.PublicKey, Host: in.Host, Directory: path.Clean(in.Directory), CreatedAt: now}
	var before chat.AgentID
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		before = ""
		e, found, err := tx.TakeEnrolment(hash)
		if err != nil {
			return err
		}
		if !found || !now.Before(e.ExpiresAt) {
			return notGood()
		}
		w, found, err := tx.Workspace(e.WorkspaceID)
		if err != nil {
			return err
		}
		if !found {
			return notGood()
		}
		if w.AgentID != "" {
			before = w.AgentID
			if _, err := tx.DeleteAgent(before); err != nil {
				return err
			}
			if err := workspace.Follow(tx, before, a.ID); err != nil {
				return err
			}
		}
		a.WorkspaceID = w.ID
		w.AgentID, w.Directory = a.ID, a.Directory
		if err := tx.PutWorkspace(w); err != nil {
			return err
		}
		who := chat.AuditBy(ctx, chat.Principal{UserID: e.CreatedBy}, chat.AuditAgentEnrolled, string(a.ID))
		who.At, who.Facts = now, map[string]string{"workspace": w.Name, "host": a.Host, "instead_of": string(before)}
		return errors.Join(tx.PutAgent(a), tx.AppendAudit(who))
	})
	if err != nil {
		return chat.AgentRecord{}, err
	}
	if before != "" && r.links != nil {
		r.links.Revoke(before)
	}
	return *a, r.touched(nil)
}

func notGood() error {
	return &chat.Error{Kind: chat.KindUnauthenticated, Message: "The enrolment token is not good."}
}
