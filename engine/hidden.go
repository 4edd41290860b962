package engine

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// When the Tools of MCP servers are hidden behind find_tools: more of them than mostServerTools, or definitions that take more than a
// quarter of the window at three bytes per token, in a small window more than smallDefs bytes. keptFound of those that were found are offered.
const (
	mostServerTools = 40
	smallDefs       = 5000
	keptFound       = 12
	namedServers    = 8
)

// offer is what a Turn offers its model.
type offer struct {
	// defs are the definitions of the next request: base, and behind it what was found of hidden.
	defs, base []chat.ToolDef
	// hidden stays the same until the Turn ends, as base does.
	hidden []chat.ToolDef
	// servers are the Tools of MCP servers.
	servers serverTools
}

// hide takes the Tools of servers out of what is offered and puts find_tools in their place, if they would take too much of the window.
func hide(defs []chat.ToolDef, window int) (shown, hidden []chat.ToolDef) {
	servers := 0
	for _, d := range defs {
		if d.Server != "" {
			servers++
		}
	}
	size := prompt.ToolBytes(defs, window)
	if servers == 0 || servers <= mostServerTools && size/3 <= int64(window/4) && (window >= prompt.SmallWindow || size <= smallDefs) {
		return defs, nil
	}
	for _, d := range defs {
		if d.Server != "" {
			hidden = append(hidden, d)
		}
	}
	finds := false
	for _, d := range defs {
		if d.Server == "" {
			shown = append(shown, d)
		} else if !finds {
			finds, shown = true, append(shown, findDef(hidden))
		}
	}
	return shown, hidden
}

// hiddenOf counts what is hidden by server, in order of their names; nil for nothing.
func hiddenOf(hidden []chat.ToolDef, window int) *chat.HiddenTools {
	if len(hidden) == 0 {
		return nil
	}
	return &chat.HiddenTools{Servers: perServer(hidden),
		SavedBytes: prompt.ToolBytes(hidden, window) - prompt.ToolBytes([]chat.ToolDef{findDef(hidden)}, window)}
}

func perServer(hidden []chat.ToolDef) (out []chat.HiddenServer) {
	for _, d := range hidden {
		i := slices.IndexFunc(out, func(s chat.HiddenServer) bool { return s.Name == d.Server })
		if i < 0 {
			i, out = len(out), append(out, chat.HiddenServer{Name: d.Server})
		}
		out[i].Tools++
	}
	slices.SortFunc(out, func(a, b chat.HiddenServer) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// noteHidden keeps with the Chat what the Turn hides, for those who look at its context.
func (r *run) noteHidden() error {
	now := hiddenOf(r.t.hidden, r.t.window)
	if reflect.DeepEqual(now, r.t.chat.Turn.Hidden) {
		return nil
	}
	lease := r.lease
	out, err := r.e.change(r.ctx, change{chat: r.id, fence: &lease, quiet: true, event: kindOf(chat.Amend),
		write: func(_ *kv.Tx, c *chat.Chat, _ chat.Move) error {
			c.Turn.Hidden = now
			return nil
		}})
	if err == nil {
		r.t.chat = out.chat
	}
	return err
}

// offerFound puts what the model has found behind what is offered, so that the next request begins as the last one did. Where the window
// has no room for all of it the oldest finds go.
func (r *run) offerFound() {
	o := &r.t.offer
	if len(o.hidden) == 0 {
		return
	}
	found := foundIn(r.t.history, o.hidden)
	for len(found) > 1 && prompt.ToolBytes(o.base, r.t.window)+prompt.ToolBytes(found, r.t.window) > int64(r.t.window) {
		found = found[1:]
	}
	o.defs = slices.Concat(o.base, found)
}

// foundIn gives the newest hidden Tools that find_tools has answered with in the Chat, in the order in which they were first found.
func foundIn(history []*chat.Message, hidden []chat.ToolDef) []chat.ToolDef {
	type find struct {
		def  chat.ToolDef
		last int
	}
	var finds []find
	n := 0
	for _, m := range history {
		if m.Deleted || m.Role != chat.RoleTool {
			continue
		}
		for _, p := range m.Content {
			if p.Type != chat.PartToolResult || p.ToolName != toolFind || p.IsError {
				continue
			}
			for _, name := range foundNames(p.Result) {
				i := slices.IndexFunc(hidden, func(d chat.ToolDef) bool { return d.Name == name })
				if i < 0 {
					continue
				}
				n++
				if at := slices.IndexFunc(finds, func(f find) bool { return f.def.Name == name }); at >= 0 {
					finds[at].last = n
					continue
				}
				finds = append(finds, find{hidden[i], n})
			}
		}
	}
	for len(finds) > keptFound {
		oldest := 0
		for i := range finds {
			if finds[i].last < finds[oldest].last {
				oldest = i
			}
		}
		finds = slices.Delete(finds, oldest, oldest+1)
	}
	out := make([]chat.ToolDef, len(finds))
	for i, f := range finds {
		out[i] = f.def
	}
	return out
}

func foundNames(result json.RawMessage) []string {
	var in found
	if json.Unmarshal(result, &in) != nil {
		return nil
	}
	names := make([]string, len(in.Tools))
	for i, t := range in.Tools {
		names[i] = t.Name
	}
	return names
}

// callable names all Tools that a Call may reach in this Turn: the offered ones first, then the hidden ones.
func (t *turn) callable() []string {
	names := t.active()
	for _, d := range t.hidden {
		if !slices.Contains(names, d.Name) {
			names = append(names, d.Name)
		}
	}
	return names
}

// serversInWords is "80 of github, 40 of jira".
func serversInWords(hidden []chat.ToolDef) string {
	all := perServer(hidden)
	var out []string
	for i, s := range all {
		if i == namedServers {
			out = append(out, fmt.Sprintf("those of %d more servers", len(all)-i))
			break
		}
		out = append(out, fmt.Sprintf("%d of %s", s.Tools, s.Name))
	}
	return strings.Join(out, ", ")
}
