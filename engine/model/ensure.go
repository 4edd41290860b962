package model

import (
	"context"
	"sort"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// EnsureConfigs makes a Model config for each installed model that can chat, as long as there is none but the demo, and once after
// Connect. The default is the largest that calls tools and fits the memory, unless the present one is on this server. A model server
// that is away changes nothing and is no error; it is asked again after 5 s.
//
//guard:none it makes what every reader of an empty list would get, once
func (r *Room) EnsureConfigs(ctx context.Context) error {
	var due bool
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		due, err = unmet(tx)
		return err
	})
	if err != nil || !due || !r.reached(ctx) {
		return err
	}
	installed, err := r.server.Installed(ctx)
	if err != nil {
		return err
	}
	made, err := r.configs(installed)
	if err != nil || len(made) == 0 {
		return err
	}
	return r.store.Update(ctx, func(tx *kv.Tx) error {
		// Another page may have done the same while this one asked the server.
		if due, err := unmet(tx); err != nil || !due {
			return err
		}
		return meet(tx, made)
	})
}

// awayFor is how long a model server that did not answer counts as away: pages that need no answer must not wait for one each time.
const awayFor = 5 * time.Second

// reached asks whether the model server is there, unless it was not a moment ago.
func (r *Room) reached(ctx context.Context) bool {
	r.mu.Lock()
	away := r.now().Before(r.awayUntil)
	r.mu.Unlock()
	if away {
		return false
	}
	if r.server.Status(ctx).Reachable {
		return true
	}
	if ctx.Err() != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awayUntil = r.now().Add(awayFor)
	return false
}

// unmet says whether the models of the present server still wait for configs.
func unmet(tx *kv.Tx) (bool, error) {
	all, err := tx.ModelConfigs()
	if err != nil || onlyDemo(all) {
		return err == nil, err
	}
	var setting ServerSetting
	_, err = tx.Site(ServerKey, &setting)
	return setting.New, err
}

func onlyDemo(all []*chat.ModelConfig) bool {
	for _, c := range all {
		if c.Provider != chat.ProviderDemo {
			return false
		}
	}
	return true
}

// meet adds those of made, the best first, whose model has no config yet.
func meet(tx *kv.Tx, made []chat.ModelConfig) error {
	all, err := tx.ModelConfigs()
	if err != nil {
		return err
	}
	var best chat.ModelConfigID
	stays := false
	for _, c := range made {
		have := ofModel(all, c.Model)
		if len(have) == 0 {
			c.Name = freeName(c.Name, all)
			if err := tx.PutModelConfig(&c); err != nil {
				return err
			}
			have = []*chat.ModelConfig{&c}
			all = append(all, &c)
		}
		for _, h := range have {
			stays = stays || h.IsDefault
			if best == "" && h.Enabled {
				best = h.ID
			}
		}
	}
	if stays {
		best = ""
	}
	var setting ServerSetting
	found, err := tx.Site(ServerKey, &setting)
	if err != nil {
		return err
	}
	if found {
		setting.New = false
		if err := tx.PutSite(ServerKey, setting); err != nil {
			return err
		}
	}
	return settleDefault(tx, best)
}

// ofModel gives the configs of a model of the model server; it tells names apart without case.
func ofModel(all []*chat.ModelConfig, model string) []*chat.ModelConfig {
	var out []*chat.ModelConfig
	for _, c := range all {
		if c.Provider == chat.ProviderOllama && strings.EqualFold(c.Model, model) {
			out = append(out, c)
		}
	}
	return out
}

// configs gives a config for each model that can chat, the best first.
func (r *Room) configs(installed []chat.InstalledModel) ([]chat.ModelConfig, error) {
	var able []chat.InstalledModel
	for _, m := range installed {
		if m.Can("completion") {
			able = append(able, m)
		}
	}
	sort.SliceStable(able, func(i, j int) bool { return preferred(able[i], able[j]) })
	out := make([]chat.ModelConfig, 0, len(able))
	for _, m := range able {
		c, err := r.configFor(m)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// preferred orders models for the default: those that call tools, those that fit the memory, the largest of them; where none fits, the
// smallest, as it comes nearest to fitting.
func preferred(a, b chat.InstalledModel) bool {
	if a.Can("tools") != b.Can("tools") {
		return a.Can("tools")
	}
	if fits(a) != fits(b) {
		return fits(a)
	}
	if a.Size != b.Size {
		return (a.Size > b.Size) == fits(a)
	}
	return a.Name < b.Name
}

// fits takes an unknown memory for enough.
func fits(m chat.InstalledModel) bool { return m.Fits == nil || *m.Fits }

// configFor gives the config of a model as it is made without a person.
func (r *Room) configFor(m chat.InstalledModel) (chat.ModelConfig, error) {
	id, err := newID()
	if err != nil {
		return chat.ModelConfig{}, err
	}
	c := chat.ModelConfig{
		ID: id, Name: shortName(m.Name), Provider: chat.ProviderOllama, Model: m.Name, Tools: "auto", Enabled: true,
		Capabilities: m.Capabilities, CreatedAt: r.now().UTC(),
	}
	if m.SuggestedWindow > 0 {
		c.ContextLimit = &m.SuggestedWindow
	}
	return c, nil
}

// adopt gives the config of a model that has just arrived: a new one, or the ones that exist, enabled and with its new capabilities.
func (r *Room) adopt(ctx context.Context, name string) (chat.ModelConfig, error) {
	m, err := r.lookup(ctx, name)
	if err != nil {
		return chat.ModelConfig{}, err
	}
	if m == nil {
		return chat.ModelConfig{}, &chat.Error{Kind: chat.KindServer, Message: "The model server took the model, but does not list it.",
			Detail: "Look at the model server's log, then try again.", Model: name, Retryable: true}
	}
	if !m.Can("completion") {
		return chat.ModelConfig{}, nil
	}
	if err := r.EnsureConfigs(ctx); err != nil {
		return chat.ModelConfig{}, err
	}
	fresh, err := r.configFor(*m)
	if err != nil {
		return chat.ModelConfig{}, err
	}
	var out chat.ModelConfig
	err = r.store.Update(ctx, func(tx *kv.Tx) error {
		id, err := enable(tx, m)
		if err != nil {
			return err
		}
		if id == "" {
			c := fresh
			all, err := tx.ModelConfigs()
			if err != nil {
				return err
			}
			c.Name, id = freeName(c.Name, all), c.ID
			if err := tx.PutModelConfig(&c); err != nil {
				return err
			}
		}
		if err := settleDefault(tx, ""); err != nil {
			return err
		}
		c, err := config(tx, id)
		if err != nil {
			return err
		}
		out = *c
		return nil
	})
	return out, err
}

// enable brings the configs of a model up to date and gives the oldest, "" when it has none.
func enable(tx *kv.Tx, m *chat.InstalledModel) (chat.ModelConfigID, error) {
	all, err := tx.ModelConfigs()
	if err != nil {
		return "", err
	}
	oldest := chat.ModelConfigID("")
	for _, c := range ofModel(all, m.Name) {
		c.Enabled, c.Capabilities = true, m.Capabilities
		// Under the same name it may be another model now.
		forget(c)
		if err := tx.PutModelConfig(c); err != nil {
			return "", err
		}
		if oldest == "" {
			oldest = c.ID
		}
	}
	return oldest, nil
}
