package model

import (
	"context"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Room holds the Model configs of one store and the one model server that they are for.
type Room struct {
	store  *kv.Store
	server chat.ModelServer
	now    func() time.Time
	// connect goes to another address; nil where the address is fixed.
	connect func(url string) error
	// test makes a capability test; nil where none can be made.
	test Test
	// others is nil where configs may not name servers of their own.
	others *Others

	mu sync.Mutex
	// awayUntil is until when the model server counts as away, testing the configs whose capability test runs; guarded by mu.
	awayUntil time.Time
	testing   map[chat.ModelConfigID]bool
}

// New gives the Room over store and server. A nil now is time.Now.
func New(store *kv.Store, server chat.ModelServer, now func() time.Time) *Room {
	if now == nil {
		now = time.Now
	}
	return &Room{store: store, server: server, now: now}
}

// ListInput asks for all Model configs.
type ListInput struct{}

// List gives all Model configs, the default first, then by name. On an appliance without any it first makes those of EnsureConfigs.
func (r *Room) List(ctx context.Context, p chat.Principal, _ ListInput) ([]chat.ModelConfig, error) {
	if err := r.EnsureConfigs(ctx); err != nil {
		return nil, err
	}
	var out []chat.ModelConfig
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		all, err := tx.ModelConfigs()
		if err != nil {
			return err
		}
		out = make([]chat.ModelConfig, 0, len(all))
		for _, c := range all {
			if err := r.fillKey(tx, c); err != nil {
				return err
			}
			out = append(out, shownTo(p, *c))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].IsDefault != out[j].IsDefault {
			return out[i].IsDefault
		}
		return out[i].Name < out[j].Name
	})
	return out, nil
}

// GetInput names a Model config.
type GetInput struct {
	ID chat.ModelConfigID
}

// Get gives one Model config; an unknown one is a KindNotFound Error.
func (r *Room) Get(ctx context.Context, p chat.Principal, in GetInput) (chat.ModelConfig, error) {
	var out chat.ModelConfig
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		c, err := config(tx, in.ID)
		if err != nil {
			return err
		}
		out = *c
		return r.fillKey(tx, &out)
	})
	return shownTo(p, out), err
}

// CreateInput are the fields of a new Model config; provider and model must be there, the rest has defaults.
type CreateInput struct {
	Fields
}

// Create adds a Model config. The first one becomes the default.
func (r *Room) Create(ctx context.Context, _ chat.Principal, in CreateInput) (chat.ModelConfig, error) {
	if err := in.complete(); err != nil {
		return chat.ModelConfig{}, err
	}
	id, err := newID()
	if err != nil {
		return chat.ModelConfig{}, err
	}
	fresh := chat.ModelConfig{ID: id, Tools: "auto", Enabled: true, CreatedAt: r.now().UTC()}
	in.apply(&fresh)
	installed, err := r.found(ctx, nil, &fresh, in.APIKey)
	if err != nil {
		return chat.ModelConfig{}, err
	}
	var out chat.ModelConfig
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		c := fresh
		in.take(&c, installed)
		all, err := tx.ModelConfigs()
		if err != nil {
			return err
		}
		if in.Name == nil {
			c.Name = freeName(shortName(c.Model), all)
		}
		if err := r.saveWithKey(tx, nil, &c, all, in.APIKey); err != nil {
			return err
		}
		out = c
		return nil
	})
	return out, err
}

// take fills in what the server says of the model. A window that nobody set is that of a server of its own, which runs with one window.
func (f Fields) take(c *chat.ModelConfig, installed *chat.InstalledModel) {
	if installed == nil {
		return
	}
	c.Model, c.Capabilities = installed.Name, installed.Capabilities
	if c.Provider == chat.ProviderOpenAI && installed.SuggestedWindow > 0 && !f.ContextLimit.Set {
		c.ContextLimit = &installed.SuggestedWindow
	}
}

// saveWithKey is save, and what the change says of the key.
func (r *Room) saveWithKey(tx *kv.Tx, before, c *chat.ModelConfig, all []*chat.ModelConfig, key *chat.Secret) error {
	if err := save(tx, c, all); err != nil {
		return err
	}
	if err := r.putKey(tx, before, c, key); err != nil {
		return err
	}
	return r.fillKey(tx, c)
}

// UpdateInput changes the fields that are set and leaves the others.
type UpdateInput struct {
	ID chat.ModelConfigID `json:"-"`
	Fields
}

// Update changes a Model config and gives the new one. Chats take it up with their next Step.
func (r *Room) Update(ctx context.Context, _ chat.Principal, in UpdateInput) (chat.ModelConfig, error) {
	installed, err := r.foundAgain(ctx, in)
	if err != nil {
		return chat.ModelConfig{}, err
	}
	var out chat.ModelConfig
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		stored, err := config(tx, in.ID)
		if err != nil {
			return err
		}
		c, before := *stored, *stored
		in.apply(&c)
		if c.Model != before.Model || c.Provider != before.Provider || c.BaseURL != before.BaseURL {
			c.Capabilities = nil
			forget(&c)
		}
		if in.Tools != nil && c.Tools != before.Tools {
			c.FoundTools = ""
		}
		in.take(&c, installed)
		if before.IsDefault && !c.IsDefault && c.Enabled {
			return chat.Invalid("is_default", "make another model the default instead")
		}
		if in.IsDefault != nil && *in.IsDefault && !c.Enabled {
			return chat.Invalid("is_default", disabledDefault)
		}
		all, err := tx.ModelConfigs()
		if err != nil {
			return err
		}
		if err := r.saveWithKey(tx, &before, &c, all, in.APIKey); err != nil {
			return err
		}
		out = c
		return nil
	})
	return out, err
}

// foundAgain asks the server where a change names another model, server or key.
func (r *Room) foundAgain(ctx context.Context, in UpdateInput) (*chat.InstalledModel, error) {
	if in.Model == nil && in.BaseURL == nil && in.APIKey == nil && in.Provider == nil {
		return nil, nil
	}
	var before *chat.ModelConfig
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		before, err = config(tx, in.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	after := *before
	in.apply(&after)
	return r.found(ctx, before, &after, in.APIKey)
}

// DeleteInput names a Model config.
type DeleteInput struct {
	ID chat.ModelConfigID
}

// Deleted is the empty answer of a command that leaves nothing to say.
type Deleted struct{}

// Delete removes a Model config; its Chats go on with the default. The model itself stays on the server.
func (r *Room) Delete(ctx context.Context, _ chat.Principal, in DeleteInput) (Deleted, error) {
	return Deleted{}, r.store.Update(ctx, func(tx *kv.Tx) error {
		if _, err := config(tx, in.ID); err != nil {
			return err
		}
		if _, err := tx.DeleteModelConfig(in.ID); err != nil {
			return err
		}
		if err := tx.PutSecret(kv.ModelConfigSecret(in.ID), nil); err != nil {
			return err
		}
		return settleDefault(tx, "")
	})
}

// DefaultInput names a Model config.
type DefaultInput struct {
	ID chat.ModelConfigID
}

// Default makes an enabled Model config the one for Chats that name none.
func (r *Room) Default(ctx context.Context, _ chat.Principal, in DefaultInput) (chat.ModelConfig, error) {
	var out chat.ModelConfig
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		c, err := config(tx, in.ID)
		if err != nil {
			return err
		}
		if !c.Enabled {
			return chat.Invalid("enabled", "enable this model before it becomes the default")
		}
		if err := settleDefault(tx, c.ID); err != nil {
			return err
		}
		c.IsDefault, c.Chosen = true, true
		if err := tx.PutModelConfig(c); err != nil {
			return err
		}
		out = *c
		return r.fillKey(tx, &out)
	})
	return out, err
}

// config reads one that must be there.
func config(tx *kv.Tx, id chat.ModelConfigID) (*chat.ModelConfig, error) {
	if !isID(id) {
		return nil, chat.NotFound("model")
	}
	c, found, err := tx.ModelConfig(id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, chat.NotFound("model")
	}
	return c, nil
}

// isID: a UUID in the one spelling that the store has keys for. It calls anything else a fault, but here it is only an unknown id.
func isID(id chat.ModelConfigID) bool {
	return len(id) == 36 && uuid.Validate(string(id)) == nil && strings.ToLower(string(id)) == string(id)
}

// save validates and stores c, and leaves exactly one default as long as one config is enabled.
func save(tx *kv.Tx, c *chat.ModelConfig, all []*chat.ModelConfig) error {
	if err := validate(c, all); err != nil {
		return err
	}
	wanted := chat.ModelConfigID("")
	if c.IsDefault && c.Enabled {
		wanted = c.ID
	}
	if err := tx.PutModelConfig(c); err != nil {
		return err
	}
	if err := settleDefault(tx, wanted); err != nil {
		return err
	}
	settled, err := config(tx, c.ID)
	if err != nil {
		return err
	}
	*c = *settled
	return nil
}

// settleDefault makes wanted the default. Without one it keeps the present default while that is enabled, else takes the best that is left.
func settleDefault(tx *kv.Tx, wanted chat.ModelConfigID) error {
	all, err := tx.ModelConfigs()
	if err != nil {
		return err
	}
	if wanted == "" {
		wanted = pickDefault(all)
	}
	for _, c := range all {
		if c.IsDefault == (c.ID == wanted) {
			continue
		}
		c.IsDefault = c.ID == wanted
		if err := tx.PutModelConfig(c); err != nil {
			return err
		}
	}
	return nil
}

// pickDefault gives the present default, else the oldest enabled config that calls tools, else the oldest enabled one, else "".
// EnsureConfigs makes the best model's config first, so that "oldest" is a good second choice too.
func pickDefault(all []*chat.ModelConfig) chat.ModelConfigID {
	var best *chat.ModelConfig
	for _, c := range all {
		if !c.Enabled {
			continue
		}
		if c.IsDefault {
			return c.ID
		}
		if best == nil || better(c, best) {
			best = c
		}
	}
	if best == nil {
		return ""
	}
	return best.ID
}

func better(a, b *chat.ModelConfig) bool {
	if callsTools(a) != callsTools(b) {
		return callsTools(a)
	}
	return a.ID < b.ID
}

func callsTools(c *chat.ModelConfig) bool {
	for _, name := range c.Capabilities {
		if name == "tools" {
			return true
		}
	}
	return false
}

func newID() (chat.ModelConfigID, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	return chat.ModelConfigID(id.String()), nil
}
