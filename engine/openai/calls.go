package openai

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"

	"holdfast/engine/chat"
)

// maxArgs bounds the arguments of all calls of a reply, in bytes.
const maxArgs = 8 << 20

var errLongCalls = errors.New("the arguments of the calls are longer than 8 MiB")

// calls puts streamed calls together.
type calls struct {
	list []*growing
	size int
}

type growing struct {
	index    *int
	id, name string
	args     []byte
}

// add takes a piece. The protocol numbers calls by index; servers also leave it out, or number all calls 0 and tell them apart by id, or
// by sending each whole.
func (c *calls) add(d callDelta) error {
	args := argsText(d.Function.Arguments)
	g := c.of(d, args)
	if g == nil {
		g = &growing{index: d.Index}
		c.list = append(c.list, g)
	}
	if g.id == "" {
		g.id = validText(d.ID)
	}
	if g.name == "" {
		g.name = validText(d.Function.Name)
	}
	g.args = append(g.args, args...)
	if c.size += len(args); c.size > maxArgs {
		return errLongCalls
	}
	return nil
}

// of finds the call that the piece goes on with, nil for a new one.
func (c *calls) of(d callDelta, args string) *growing {
	for i := len(c.list) - 1; i >= 0; i-- {
		g := c.list[i]
		switch {
		case d.Index != nil && (g.index == nil || *g.index != *d.Index):
			continue
		case d.ID != "" && g.id != "" && d.ID != g.id:
			if d.Index != nil {
				return nil
			}
			continue
		case d.Index == nil && d.ID != "" && g.id == "":
			continue
		}
		if (d.ID == "" || g.id == "") && d.Function.Name != "" && args != "" && isObject(g.args) {
			return nil
		}
		return g
	}
	return nil
}

// argsText gives a piece of arguments: the content of a text, or an object as it is written.
func argsText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// made gives the whole calls. Ids that are missing, or in used already, are replaced: Results are paired by them.
func (c *calls) made(used map[string]bool) []chat.Call {
	var out []chat.Call
	for _, g := range c.list {
		if g.name == "" && len(g.args) == 0 {
			continue
		}
		id := g.id
		for id == "" || used[id] {
			id = newCallID()
		}
		used[id] = true
		out = append(out, chat.Call{ID: id, Name: g.name, Args: callArgs(g.args)})
	}
	return out
}

// callArgs gives the arguments as an object: none is an empty one, and what is no object is nil.
func callArgs(raw []byte) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	if !isObject(raw) {
		return nil
	}
	return raw
}

func usedIDs(req *chat.Request) map[string]bool {
	used := map[string]bool{}
	for i := range req.Messages {
		for _, c := range req.Messages[i].Calls {
			used[c.ID] = true
		}
	}
	return used
}

// newCallID is call_ and 40 random bits.
func newCallID() string {
	b := make([]byte, 8)
	rand.Read(b)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz234567"[b[i]&31]
	}
	return "call_" + string(b)
}
