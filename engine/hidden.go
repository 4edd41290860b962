package engine

import (
	"cmp"
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
	builtIn         = "the appliance itself"
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

// hide takes out of what is offered what the window has no room for, and puts find_tools in its place: the Tools of servers if they would
// take too much, in a small window all that is not of the core, and then the last ones until the rest fits. An advisor for which there is
// no room is not there at all.
func hide(defs []chat.ToolDef, window int, placeless bool) (shown, hidden []chat.ToolDef) {
	tooMany := crowded(defs, window)
	out := func(d chat.ToolDef) bool {
		return d.Server != "" && tooMany || d.Server == "" && window < prompt.SmallWindow && !core(d, placeless)
	}
	shown, hidden = split(defs, out)
	if len(hidden) > 0 && !tooMany && prompt.ToolBytes(hidden, window) <= prompt.ToolBytes([]chat.ToolDef{findDef(hidden)}, window) {
		shown, hidden = defs, nil
	}
	fits := prompt.FitTools(withFind(shown, hidden), window)
	for len(fits) < len(withFind(shown, hidden)) && len(shown) > 0 {
		last := shown[len(shown)-1]
		if shown = shown[:len(shown)-1]; last.Name != toolAdvisor {
			hidden = append([]chat.ToolDef{last}, hidden...)
		}
		fits = prompt.FitTools(withFind(shown, hidden), window)
	}
	return fits, hidden
}

// core says whether a model with a small window is offered a Tool of the appliance's own.
func core(d chat.ToolDef, placeless bool) bool {
	own := rootTools[d.Name] || d.Name == toolGive
	return !own || d.Name == toolPlan || placeless && (d.Name == toolMake || d.Name == toolTemplates)
}

// split keeps the order of both. Where nothing is out, in is defs.
func split(defs []chat.ToolDef, out func(chat.ToolDef) bool) (in, others []chat.ToolDef) {
	if !slices.ContainsFunc(defs, out) {
		return defs, nil
	}
	in = make([]chat.ToolDef, 0, len(defs))
	for _, d := range defs {
		if out(d) {
			others = append(others, d)
		} else {
			in = append(in, d)
		}
	}
	return in, others
}

// withFind puts find_tools behind the appliance's own Tools if anything is hidden.
func withFind(shown, hidden []chat.ToolDef) []chat.ToolDef {
	if len(hidden) == 0 {
		return shown
	}
	at := slices.IndexFunc(shown, func(d chat.ToolDef) bool { return d.Server != "" || d.Client })
	if at < 0 {
		at = len(shown)
	}
	return slices.Insert(slices.Clone(shown), at, findDef(hidden))
}

// crowded says whether the Tools of servers take too much.
func crowded(defs []chat.ToolDef, window int) bool {
	servers := 0
	for _, d := range defs {
		if d.Server != "" {
			servers++
		}
	}
	if servers == 0 {
		return false
	}
	if window < prompt.SmallWindow {
		// What is not of the core is hidden anyway.
		defs, _ = split(defs, func(d chat.ToolDef) bool { return d.Server == "" && !core(d, false) })
	}
	size := prompt.ToolBytes(defs, window)
	return servers > mostServerTools || size/3 > int64(window/4) || window < prompt.SmallWindow && size > smallDefs
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
		name := cmp.Or(d.Server, builtIn)
		i := slices.IndexFunc(out, func(s chat.HiddenServer) bool { return s.Name == name })
		if i < 0 {
			i, out = len(out), append(out, chat.HiddenServer{Name: name})
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
// has no room for all of it the oldest finds go, and of one search the worst.
func (r *run) offerFound() {
	o := &r.t.offer
	if len(o.hidden) == 0 {
		return
	}
	base := prompt.ToolBytes(o.base, r.t.window)
	found := foundIn(r.t.history, o.hidden, func(found []chat.ToolDef) bool {
		return len(found) <= 1 || base+prompt.ToolBytes(found, r.t.window) <= int64(r.t.window)
	})
	o.defs = slices.Concat(o.base, found)
}

// foundIn gives the newest hidden Tools that find_tools has answered with in the Chat, in the order in which they were first found.
func foundIn(history []*chat.Message, hidden []chat.ToolDef, fit func([]chat.ToolDef) bool) []chat.ToolDef {
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
			names := foundNames(p.Result)
			n += len(names)
			for rank, name := range names {
				i := slices.IndexFunc(hidden, func(d chat.ToolDef) bool { return d.Name == name })
				if i < 0 {
					continue
				}
				if at := slices.IndexFunc(finds, func(f find) bool { return f.def.Name == name }); at >= 0 {
					finds[at].last = n - rank
					continue
				}
				finds = append(finds, find{hidden[i], n - rank})
			}
		}
	}
	defs := func() []chat.ToolDef {
		out := make([]chat.ToolDef, len(finds))
		for i, f := range finds {
			out[i] = f.def
		}
		return out
	}
	for len(finds) > keptFound || !fit(defs()) {
		oldest := 0
		for i := range finds {
			if finds[i].last < finds[oldest].last {
				oldest = i
			}
		}
		finds = slices.Delete(finds, oldest, oldest+1)
	}
	return defs()
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

// serversInWords is "spawn_agent, 80 of github, 40 of jira": the appliance's own by their names.
func serversInWords(hidden []chat.ToolDef) string {
	var out []string
	own, others := split(hidden, func(d chat.ToolDef) bool { return d.Server != "" })
	for _, d := range own {
		out = append(out, d.Name)
	}
	all := perServer(others)
	for i, s := range all {
		if i == namedServers {
			out = append(out, fmt.Sprintf("those of %d more servers", len(all)-i))
			break
		}
		out = append(out, fmt.Sprintf("%d of %s", s.Tools, s.Name))
	}
	return strings.Join(out, ", ")
}
