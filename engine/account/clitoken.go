package account

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// cliTokenKey remembers which token the file holds, so that a new file ends the old one.
const cliTokenKey = "account.cli_token"

// EnsureCLIToken sees to it that the file holds a valid token of the owner, which the commands of the same binary use. A missing,
// foreign or outdated file is replaced by a new token, and the one that was made for it before is revoked.
// Not a command: it acts for the owner, who starts the appliance.
func (r *Room) EnsureCLIToken(ctx context.Context, path string) error {
	owner, err := r.EnsureOwner(ctx)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the command line token: %w", err)
	}
	if err == nil {
		p, err := r.Authenticate(ctx, Credentials{Bearers: []string{strings.TrimSpace(string(text))}})
		if err == nil && p.UserID == owner.UserID && !p.ReadOnly {
			return os.Chmod(path, 0o600)
		}
		var refused *chat.Error
		if err != nil && (!errors.As(err, &refused) || refused.Kind != chat.KindUnauthenticated) {
			return err
		}
	}
	fresh, hash := newSecret(TokenPrefix)
	t := &chat.Token{ID: chat.TokenID(newID()), UserID: owner.UserID, Name: "command line", Hash: hash, CreatedAt: r.now().UTC()}
	var old chat.TokenID
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		old = ""
		if _, err := tx.Site(cliTokenKey, &old); err != nil {
			return err
		}
		if old != "" {
			if _, err := tx.DeleteToken(old); err != nil {
				return err
			}
		}
		if err := tx.PutToken(t); err != nil {
			return err
		}
		if err := tx.AppendAudit(chat.Audit{At: t.CreatedAt, Action: chat.AuditTokenMade, Object: string(t.ID), Facts: map[string]string{"name": t.Name}}); err != nil {
			return err
		}
		return tx.PutSite(cliTokenKey, t.ID)
	})
	if err != nil {
		return storeFault(err)
	}
	r.ended(string(old))
	return writeSecretFile(path, fresh+"\n")
}

// writeSecretFile replaces the file whole, readable by its owner only.
func writeSecretFile(path, text string) error {
	dir := filepath.Dir(path)
	// CreateTemp makes it 0600.
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write the command line token: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the command line token: %w", err), os.Remove(f.Name()))
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
