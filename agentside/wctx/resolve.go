package wctx

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"holdfast/engine/chat"
)

// errDangling: what a link leads to is not there.
var errDangling = errors.New("the link leads to nothing")

// resolver reads roots.
type resolver struct {
	disk   disk
	names  names
	denied []string
	caps   Caps
	// key seals the hashes of MCP configs, so that they cannot be used to guess a secret.
	key []byte
}

// item is a Resource with its place in the order of agentside.md 1.
type item struct {
	chat.Resource
	// config is the content of an MCP config that can be used.
	config []byte
	root   int
	child  bool
}

// body is what a Snapshot is made of.
type body struct {
	resources    []chat.Resource
	payloadBytes int64
	// configs are the MCP configs among them that can be used.
	configs []Config
	// left and problems are the Snapshot's error: what was left out, and what could not be read.
	left, problems []string
}

// resolve reads the roots, and the servers with them. A context that ends gives its error and nothing else.
func (r *resolver) resolve(ctx context.Context, roots []root, servers []chat.Resource) (body, error) {
	var all []item
	var out body
	said := map[string]bool{}
	for i, one := range roots {
		if err := ctx.Err(); err != nil {
			return body{}, err
		}
		w := walk{ctx: ctx, disk: r.disk, names: r.names, denied: r.denied, entries: r.caps.Entries, dir: func(rank, string) {},
			problem: func(text string) {
				if !said[text] {
					said[text] = true
					out.problems = append(out.problems, text)
				}
			},
			file: func(c candidate) {
				if res, config, ok := r.resource(c); ok {
					res.SourcePath = shownPath(one.sourcePath)
					all = append(all, item{res, config, i, c.child})
				}
			}}
		if err := w.root(one); err != nil {
			return body{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return body{}, err
	}
	kept := unique(all)
	claimNames(kept)
	for _, one := range kept {
		if one.config != nil {
			out.configs = append(out.configs, Config{Path: one.Source, SourcePath: one.SourcePath, Content: one.config})
		}
	}
	r.caps.apply(kept, servers, &out)
	return out, nil
}

// resource reads a candidate, and gives the content of an MCP config; false when there is nothing after all.
func (r *resolver) resource(c candidate) (out chat.Resource, config []byte, ok bool) {
	out = chat.Resource{Kind: c.kind, Source: shownPath(c.place.abs(c.named))}
	if c.kind == chat.ResourceSkill {
		out.Source = shownPath(filepath.Dir(c.place.abs(c.named)))
	}
	var got content
	if c.fault != nil {
		got = notFollowed(c.fault)
	} else {
		got = c.place.read(c.at, r.caps.ResourceBytes)
	}
	if got.status == "" {
		return out, nil, false
	}
	out.Status, out.Error, out.SizeBytes, out.ContentHash = got.status, got.why, got.size, got.hash
	switch c.kind {
	case chat.ResourceInstructionFile:
		// Several links to one file are one Resource.
		if got.at != "" {
			out.Source = shownPath(c.place.abs(got.at))
		}
		if got.status == chat.ResourceOK {
			out.Payload, out.Description = got.bytes, heading(got.bytes)
		}
	case chat.ResourceMCPConfig:
		out.ContentHash = r.seal(got)
		if got.status == chat.ResourceOK && !validConfig(got.bytes) {
			out.Status, out.Error = chat.ResourceInvalid, "it is not JSON with an object of servers as mcpServers"
		} else if got.status == chat.ResourceOK {
			config = got.bytes
		}
	case chat.ResourceSkill:
		if got.status == chat.ResourceOK {
			skill(&out, got.bytes)
		}
	}
	return out, config, true
}

func skill(out *chat.Resource, file []byte) {
	m, err := parseSkill(file, path.Base(out.Source))
	if err != nil {
		out.Status, out.Error = chat.ResourceInvalid, err.Error()
		return
	}
	out.Name, out.Description, out.Error, out.Payload = m.name, m.description, m.warning, file
}

// seal hides the hash of what may hold a secret.
func (r *resolver) seal(got content) chat.Hash {
	if got.hash == (chat.Hash{}) {
		return got.hash
	}
	h := hmac.New(sha256.New, r.key)
	if got.status == chat.ResourceOK {
		h.Write(got.bytes)
	} else {
		h.Write(got.hash[:])
	}
	return chat.Hash(h.Sum(nil))
}

// validConfig: JSON whose mcpServers is absent, empty or an object of objects.
func validConfig(file []byte) bool {
	var config map[string]json.RawMessage
	if json.Unmarshal(file, &config) != nil || config == nil {
		return false
	}
	list, ok := config["mcpServers"]
	if !ok {
		return true
	}
	var servers map[string]map[string]json.RawMessage
	if json.Unmarshal(list, &servers) != nil {
		return false
	}
	for _, s := range servers {
		if s == nil {
			return false
		}
	}
	return true
}

// unique keeps one Resource of each ID: the first one, or the first that is ok.
func unique(all []item) []item {
	at := map[string]int{}
	var out []item
	for _, one := range all {
		i, twice := at[one.ID()]
		switch {
		case !twice:
			at[one.ID()] = len(out)
			out = append(out, one)
		case out[i].Status != chat.ResourceOK && one.Status == chat.ResourceOK:
			out[i] = one
		}
	}
	return out
}

// claimNames lets the first skill of a name have it.
func claimNames(all []item) {
	slices.SortStableFunc(all, func(a, b item) int { return cmp.Compare(a.root, b.root) })
	owner := map[string]string{}
	for i := range all {
		s := &all[i]
		if s.Kind != chat.ResourceSkill || s.Status != chat.ResourceOK {
			continue
		}
		if first, taken := owner[s.Name]; taken {
			s.Status, s.Error = chat.ResourceInvalid, fmt.Sprintf("the skill in %s has this name already", clip(first, chat.MaxResourceSource))
			s.Payload, s.Name, s.Description = nil, "", ""
			continue
		}
		owner[s.Name] = s.Source
	}
}
