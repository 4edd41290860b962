package wctx

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"holdfast/engine/chat"
)

// source is a path that somebody added.
type source struct {
	path string
	// seeded: the environment named it, so it is trusted and not kept.
	seeded bool
	// relative is how it was named, "" for a whole path: it is bound to the working directory.
	relative  string
	container bool
}

// Sources gives the paths in the order of adding.
func (m *Manager) Sources(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]string, 0, len(m.state.sources))
	for _, s := range m.state.sources {
		out = append(out, s.path)
	}
	return out, nil
}

// HasSource gives the identity of a path, and whether it was added.
func (m *Manager) HasSource(path string) (identity string, has bool, err error) {
	identity, err = m.reach.identity(path)
	if err != nil {
		return "", false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return identity, m.holds(identity), nil
}

// holds needs mu.
func (m *Manager) holds(identity string) bool {
	return slices.ContainsFunc(m.state.sources, func(s source) bool { return s.path == identity })
}

// Source finds, adds or removes a path.
func (m *Manager) Source(ctx context.Context, path string, act chat.SourceAct) (string, error) {
	switch act {
	case chat.SourceAdd:
		return m.AddSource(ctx, path)
	case chat.SourceRemove:
		return m.RemoveSource(ctx, path)
	case chat.SourceFind:
		identity, has, err := m.HasSource(path)
		if err == nil && !has {
			err = chat.NotFound("source")
		}
		return identity, err
	}
	return "", fmt.Errorf("there is no act %q of a source", act)
}

// AddSource adds a path and gives its identity. Adding again changes nothing.
func (m *Manager) AddSource(ctx context.Context, path string) (string, error) {
	identity, has, err := m.HasSource(path)
	if err != nil || has {
		return identity, err
	}
	if _, err := m.reach.allowed(identity, m.dir()); err != nil {
		return "", err
	}
	err = m.change(ctx, func(list []source) ([]source, error) {
		if slices.ContainsFunc(list, func(s source) bool { return s.path == identity }) {
			return nil, errUnchanged
		}
		if len(list) >= chat.MaxSources {
			return nil, &chat.Error{Kind: chat.KindWrongState, Message: fmt.Sprintf("A workspace has at most %d sources.", chat.MaxSources), Detail: "Remove one first."}
		}
		return append(list, source{path: identity}), nil
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	if err != nil {
		return "", err
	}
	return identity, nil
}

// RemoveSource removes a path; one that cannot be a path was never added.
func (m *Manager) RemoveSource(ctx context.Context, path string) (string, error) {
	identity, has, err := m.HasSource(path)
	if err != nil || !has {
		return identity, chat.NotFound("source")
	}
	err = m.change(ctx, func(list []source) ([]source, error) {
		left := slices.DeleteFunc(list, func(s source) bool { return s.path == identity })
		if len(left) == len(list) {
			return nil, chat.NotFound("source")
		}
		return left, nil
	})
	return identity, err
}

// errUnchanged: there is nothing to change.
var errUnchanged = errors.New("unchanged")

// change makes a new list of Sources, keeps it and only then uses it. Changes are made one after the other; readers wait for none.
func (m *Manager) change(ctx context.Context, f func([]source) ([]source, error)) error {
	select {
	case m.changing <- struct{}{}:
		defer func() { <-m.changing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	m.mu.Lock()
	if m.state.closed {
		m.mu.Unlock()
		return chat.ErrContextClosed
	}
	list := slices.Clone(m.state.sources)
	m.mu.Unlock()
	list, err := f(list)
	if err != nil {
		return err
	}
	if err := m.keep(list); err != nil {
		return err
	}
	m.mu.Lock()
	m.state.sources, m.state.problem = list, ""
	m.mu.Unlock()
	m.Trigger()
	return nil
}

// Seed is a path that the environment names.
type Seed struct {
	Path string
	// Container: the directories in it are skills.
	Container bool
}

func (s Seed) relative() bool { return s.Path != "" && s.Path[0] != '~' && !filepath.IsAbs(s.Path) }

// remember keeps the relative seeds for the next working directory; whoever changes the Sources may.
func (m *Manager) remember(seeds []Seed) {
	for _, s := range seeds {
		if s.relative() {
			m.relative = append(m.relative, s)
		}
	}
}

// SeedSources adds paths that are trusted: the allowed roots do not bind them. What cannot be a path is skipped; a relative one waits for
// the working directory.
func (m *Manager) SeedSources(ctx context.Context, seeds []Seed) error {
	err := m.change(ctx, func(list []source) ([]source, error) {
		m.remember(seeds)
		fresh := m.seeded(list, seeds, m.dir())
		if len(fresh) == len(list) {
			return nil, errUnchanged
		}
		return fresh, nil
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// seeded gives the list with the seeds that can be bound.
func (m *Manager) seeded(list []source, seeds []Seed, dir string) []source {
	for _, s := range seeds {
		fresh := source{seeded: true, container: s.Container}
		named := s.Path
		if s.relative() {
			fresh.relative = named
			named = filepath.Join(dir, named)
			if dir == "" {
				continue
			}
		}
		identity, err := m.reach.identity(named)
		if err != nil {
			m.o.Log.Warn("a path of the environment is ignored", chat.LogPath, s.Path, chat.LogError, err)
			continue
		}
		fresh.path = identity
		switch i := slices.IndexFunc(list, func(s source) bool { return s.path == identity }); {
		case i >= 0:
			list[i].container = list[i].container || s.Container
		case len(list) >= chat.MaxSources:
			m.o.Log.Warn("a path of the environment is ignored: there are too many", chat.LogPath, s.Path)
		default:
			list = append(list, fresh)
		}
	}
	return list
}

// SetDir tells the working directory. Relative seeds are bound to it anew.
func (m *Manager) SetDir(ctx context.Context, dir string) error {
	if m.dir() == dir {
		return nil
	}
	m.mu.Lock()
	m.state.dir = dir
	m.mu.Unlock()
	err := m.change(ctx, func(list []source) ([]source, error) {
		list = slices.DeleteFunc(list, func(s source) bool { return s.relative != "" })
		return m.seeded(list, m.relative, dir), nil
	})
	return err
}

func (m *Manager) dir() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.dir
}

// variables name lists of paths; those of the middle one are containers of skills.
var variables = []struct {
	name      string
	container bool
}{{"HOLDFAST_CONTEXT_INSTRUCTIONS_DIRS", false}, {"HOLDFAST_CONTEXT_SKILLS_DIRS", true}, {"HOLDFAST_CONTEXT_MCP_DIRS", false}}

// Seeds reads the variables that name paths.
func Seeds(getenv func(string) string) []Seed {
	var out []Seed
	for _, v := range variables {
		for _, path := range filepath.SplitList(getenv(v.name)) {
			if path != "" {
				out = append(out, Seed{Path: path, Container: v.container})
			}
		}
	}
	return out
}
