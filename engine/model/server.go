package model

import (
	"context"
	"io"
	"strings"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// StatusInput asks how the model server is.
type StatusInput struct{}

// Status gives the model server as found just now; it does not fail when the server is away.
func (r *Room) Status(ctx context.Context, p chat.Principal, _ StatusInput) (chat.ServerStatus, error) {
	s := r.server.Status(ctx)
	s.URL = shownAddress(p, s.URL)
	return s, nil
}

// InstalledInput asks what the model server has.
type InstalledInput struct{}

// Installed lists the models on the model server's disk.
func (r *Room) Installed(ctx context.Context, _ chat.Principal, _ InstalledInput) ([]chat.InstalledModel, error) {
	return r.server.Installed(ctx)
}

// PullInput names a model of a registry. Progress is called on the caller's goroutine; nil is allowed.
type PullInput struct {
	Name     string
	Progress func(chat.Progress)
}

// Pull lets the model server fetch a model, and makes a Model config for it where there is none. The config is empty for a model that
// cannot chat. Pulling again after a break goes on where it stopped.
func (r *Room) Pull(ctx context.Context, _ chat.Principal, in PullInput) (chat.ModelConfig, error) {
	name := tagged(in.Name)
	if why := badModel(name); why != "" {
		return chat.ModelConfig{}, chat.Invalid("name", why)
	}
	if err := r.server.Pull(ctx, name, quiet(in.Progress)); err != nil {
		return chat.ModelConfig{}, err
	}
	return r.adopt(ctx, name)
}

// ImportInput is a GGUF of Size bytes, read from Body, that becomes the model Name.
type ImportInput struct {
	Name     string
	Body     io.Reader
	Size     int64
	Progress func(chat.Progress)
}

// Import uploads a GGUF to the model server and makes a Model config for it, as Pull does.
func (r *Room) Import(ctx context.Context, _ chat.Principal, in ImportInput) (chat.ModelConfig, error) {
	name := tagged(in.Name)
	if why := badModel(name); why != "" {
		return chat.ModelConfig{}, chat.Invalid("name", why)
	}
	if in.Size <= 0 {
		return chat.ModelConfig{}, chat.Invalid("size", "the file is empty or its size is not known")
	}
	if err := r.server.Import(ctx, name, in.Body, in.Size, quiet(in.Progress)); err != nil {
		return chat.ModelConfig{}, err
	}
	return r.adopt(ctx, name)
}

// DeleteInstalledInput names a model on the model server's disk.
type DeleteInstalledInput struct {
	Name string
}

// DeleteInstalled removes a model from the model server and disables its Model configs, so that their Chats go on with the default.
func (r *Room) DeleteInstalled(ctx context.Context, _ chat.Principal, in DeleteInstalledInput) (Deleted, error) {
	name := tagged(in.Name)
	if why := badModel(name); why != "" {
		return Deleted{}, chat.Invalid("name", why)
	}
	if err := r.server.Delete(ctx, name); err != nil {
		return Deleted{}, err
	}
	return Deleted{}, r.store.Update(ctx, func(tx *kv.Tx) error {
		all, err := tx.ModelConfigs()
		if err != nil {
			return err
		}
		for _, c := range ofModel(all, name) {
			c.Enabled = false
			if err := tx.PutModelConfig(c); err != nil {
				return err
			}
		}
		return settleDefault(tx, "")
	})
}

// lookup finds the model as the server names it; nil when the server is away or does not have it.
func (r *Room) lookup(ctx context.Context, name string) (*chat.InstalledModel, error) {
	if !r.server.Status(ctx).Reachable {
		return nil, nil
	}
	all, err := r.server.Installed(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if strings.EqualFold(m.Name, name) {
			return &m, nil
		}
	}
	return nil, nil
}

// quiet is progress, or one that shows nothing.
func quiet(progress func(chat.Progress)) func(chat.Progress) {
	if progress == nil {
		return func(chat.Progress) {}
	}
	return progress
}
