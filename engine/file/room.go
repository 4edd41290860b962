package file

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Room holds the Files of one store. Its methods may be called from any goroutine.
type Room struct {
	store *kv.Store
	now   func() time.Time
}

// New gives the Room over store. A nil now is time.Now.
func New(store *kv.Store, now func() time.Time) *Room {
	if now == nil {
		now = time.Now
	}
	return &Room{store: store, now: now}
}

// UploadInput is what somebody sends: bytes, and a name, "" for none.
type UploadInput struct {
	Name string
	Body io.Reader
}

// Upload keeps the bytes under a new id. One byte too much is KindTooLarge, and nothing is kept.
func (r *Room) Upload(ctx context.Context, p chat.Principal, in UploadInput) (chat.File, error) {
	look := &look{from: in.Body, most: chat.MaxFileBytes}
	sum, size, err := r.store.PutFile(ctx, look)
	if err != nil {
		return chat.File{}, err
	}
	f := chat.File{ID: chat.FileID(uuid.Must(uuid.NewV7()).String()), OwnerID: p.UserID, MediaType: look.mediaType(), Size: size, SHA256: sum,
		CreatedAt: r.now().UTC()}
	f.Name = CleanName(in.Name, f.MediaType)
	return f, r.store.Update(ctx, func(tx *kv.Tx) error { return tx.PutFile(&f) })
}

// GetInput and OpenInput name a File.
type (
	GetInput  struct{ FileID chat.FileID }
	OpenInput struct{ FileID chat.FileID }
)

// Get gives a File's record, also of one whose bytes are gone.
func (r *Room) Get(ctx context.Context, _ chat.Principal, in GetInput) (chat.File, error) {
	var f *chat.File
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		var found bool
		var err error
		if f, found, err = tx.File(in.FileID); err == nil && !found {
			err = chat.NotFound("file")
		}
		return err
	})
	if err != nil {
		return chat.File{}, err
	}
	return *f, nil
}

// Opened is a File and its bytes; close Body.
type Opened struct {
	File chat.File
	Body io.ReadCloser
}

// Open gives a File's bytes. One that was dropped is KindNotFound; bytes that went bad are a fault before the first of them is given.
func (r *Room) Open(ctx context.Context, p chat.Principal, in OpenInput) (Opened, error) {
	f, err := r.Get(ctx, p, GetInput(in))
	if err != nil {
		return Opened{}, err
	}
	gone := &chat.Error{Kind: chat.KindNotFound, Message: "This file is no longer kept.", Detail: "Attach it again if it is needed."}
	if f.Dropped {
		return Opened{}, gone
	}
	// The last Read finds bytes that went bad, too late for who has begun to answer; so all is read once before.
	tried, err := r.store.OpenFile(f.SHA256)
	if err == nil {
		_, err = io.Copy(io.Discard, tried)
		err = errors.Join(err, tried.Close())
	}
	var body io.ReadCloser
	if err == nil {
		body, err = r.store.OpenFile(f.SHA256)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Opened{}, gone
	}
	return Opened{File: f, Body: body}, err
}
