package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/engine/chat"
	"holdfast/engine/skill"
)

// toolbox is all Tools that the engine knows: those that were handed in, and behind them those that act on Chats.
type toolbox struct {
	// hide takes known secrets out of what they say; may be nil.
	hide func(string) string
	Tools
	own []chat.Tool
}

// Tool gives the Tool of that exact name.
func (b *toolbox) Tool(name string) (chat.Tool, bool) {
	for _, t := range b.own {
		if t.Def().Name == name {
			return t, true
		}
	}
	return b.Tools.Tool(name)
}

// defs lists what there is for a window and is not left out.
func (b *toolbox) defs(window int, out func(chat.ToolDef) bool) []chat.ToolDef {
	there := b.Tools.Defs(window)
	in := 0
	for _, d := range there {
		if !out(d) {
			in++
		}
	}
	// A Chat without a Workspace has a few of many: there is room for those, not for all.
	defs := make([]chat.ToolDef, 0, in+len(b.own))
	for _, d := range there {
		if !out(d) {
			defs = append(defs, d)
		}
	}
	for _, t := range b.own {
		if d := t.Def(); !out(d) {
			defs = append(defs, d)
		}
	}
	return defs
}

// ownTool is a Tool that acts on Chats.
type ownTool struct {
	def chat.ToolDef
	run func(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result
}

var _ chat.Tool = ownTool{}

// Def gives the definition.
func (t ownTool) Def() chat.ToolDef { return t.def }

// Run runs it.
func (t ownTool) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	return t.run(ctx, env, args)
}

// offered is the Turn's Set of Tools, in order. The same list drives definitions and execution; see offer for what is hidden of it.
func (r *run) offered() []chat.ToolDef {
	t := &r.t
	if t.config.Tools == chat.ToolsOff {
		return nil
	}
	defs := r.e.tools.defs(t.window, func(d chat.ToolDef) bool {
		return d.Workspace && t.workspace == nil && !t.extra.place.makes || (d.Name == toolTemplates || d.Name == toolMake) && !t.extra.place.makes || skill.Reads(d.Name) && !skill.Any(t.extra.guided.snapshot) || !t.allows(d)
	})
	for _, tool := range t.extra.tools {
		defs = append(defs, tool.Def())
	}
	return append(defs, clientDefs(t, defs)...)
}

// offerTools decides what the Turn offers, and what it hides.
func (r *run) offerTools() {
	t := &r.t
	t.base, t.hidden = hide(r.offered(), t.window, t.extra.place.makes && t.workspace == nil)
	t.defs = t.base
	if len(t.hidden) > 0 {
		t.extra.tools = append(t.extra.tools, findTool(t.hidden))
	}
}

// tool gives the Tool behind an offered name, and its definition.
func (r *run) tool(name string) (chat.Tool, chat.ToolDef) {
	for _, d := range slices.Concat(r.t.base, r.t.hidden) {
		if d.Name != name {
			continue
		}
		if d.Client {
			return clientTool(d), d
		}
		for _, t := range r.t.extra.tools {
			if t.Def().Name == name {
				return t, d
			}
		}
		t, _ := r.e.tools.Tool(name)
		return t, d
	}
	return nil, chat.ToolDef{}
}

// failed is a Result that tells the model in plain words what went wrong and what to do.
func failed(format string, a ...any) chat.Result {
	return chat.Result{Content: fmt.Sprintf(format, a...), IsError: true}
}

// resultOf is a Result of one JSON object.
func resultOf(v any) chat.Result {
	b, err := json.Marshal(v)
	if err != nil {
		return failed("The result cannot be encoded: %v", err)
	}
	return chat.Result{Content: string(b)}
}
