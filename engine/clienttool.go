package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// Bounds of the Tools that a program declares.
const (
	maxClientTools     = 32
	maxClientToolBytes = 32 << 10
)

// checkClientTools refuses declarations that cannot be offered to a model, and gives them as they are stored.
func checkClientTools(tools []chat.ClientTool) ([]chat.ClientTool, error) {
	if len(tools) > maxClientTools {
		return nil, chat.Invalid("client_tools", "At most "+strconv.Itoa(maxClientTools)+" tools.")
	}
	var out []chat.ClientTool
	names, size := map[string]bool{}, 0
	for i, t := range tools {
		field := "client_tools[" + strconv.Itoa(i) + "]"
		if !chat.PlainName(t.Name) {
			return nil, chat.Invalid(field+".name", "It must be 1 to 64 letters, digits, _ or -.")
		}
		if names[t.Name] {
			return nil, chat.Invalid(field+".name", "It is declared twice.")
		}
		names[t.Name] = true
		schema, err := plainSchema(t.Schema)
		if err != nil {
			return nil, chat.Invalid(field+".schema", "It must be a JSON Schema of type object.")
		}
		size += len(t.Name) + len(t.Description) + len(schema)
		out = append(out, chat.ClientTool{Name: t.Name, Description: valid(t.Description), Schema: schema})
	}
	if size > maxClientToolBytes {
		return nil, chat.Invalid("client_tools", "All of them together must not be larger than 32 KiB.")
	}
	return out, nil
}

// plainSchema gives a schema the members that models' templates cannot do without.
func plainSchema(raw json.RawMessage) (json.RawMessage, error) {
	object := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &object); err != nil {
			return nil, err
		}
	}
	var shape struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	whole, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(whole, &shape); err != nil {
		return nil, err
	}
	if shape.Type != "" && shape.Type != "object" {
		return nil, strconv.ErrSyntax
	}
	if object == nil {
		object = map[string]json.RawMessage{}
	}
	object["type"] = json.RawMessage(`"object"`)
	if shape.Properties == nil {
		object["properties"] = json.RawMessage(`{}`)
	}
	if shape.Required == nil {
		object["required"] = json.RawMessage(`[]`)
	}
	return json.Marshal(object)
}

// shadowed names the declared Tools that a built-in one takes the place of.
func (e *Engine) shadowed(tools []chat.ClientTool) []string {
	var out []string
	for _, t := range tools {
		if _, taken := e.tools.Tool(t.Name); taken {
			out = append(out, t.Name)
		}
	}
	return out
}

// clientDefs are the Tools that the Chat's program runs, behind the built-in ones, which win.
func clientDefs(t *turn, builtIn []chat.ToolDef) []chat.ToolDef {
	if t.extra.mode != chat.ModeAct || t.chat.Child() {
		return nil
	}
	var out []chat.ToolDef
	for _, c := range t.chat.ClientTools {
		if slices.ContainsFunc(builtIn, func(d chat.ToolDef) bool { return d.Name == c.Name }) {
			continue
		}
		out = append(out, chat.ToolDef{Name: c.Name, Description: c.Description, Schema: c.Schema, Effect: chat.ClassEffect, Client: true})
	}
	return out
}

// clientTool stands for a Tool that is run elsewhere.
type clientTool chat.ToolDef

// Def gives the definition.
func (c clientTool) Def() chat.ToolDef { return chat.ToolDef(c) }

// Run is never reached: a Call of it becomes outstanding.
func (c clientTool) Run(context.Context, chat.Env, json.RawMessage) chat.Result {
	return failed("%s is run by the program that made this chat, not here.", c.Name)
}

// SubmitInput answers all client-run Calls of a Chat that are outstanding.
type SubmitInput struct {
	ChatID  chat.ID
	Results []ClientResult
	Keyed
}

// ClientResult is what a program says about one Call: any JSON value.
type ClientResult struct {
	CallID  string
	Output  json.RawMessage
	IsError bool
}

// Submit stores the Results of client-run Calls; the Turn goes on when no Call is open any more. The names must be exactly the
// outstanding ones.
func (e *Engine) Submit(ctx context.Context, p chat.Principal, in SubmitInput) (Done, error) {
	if err := checkResults(in.Results); err != nil {
		return Done{}, err
	}
	limit := 0
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		c, err := mustChat(tx, in.ChatID)
		if err != nil {
			return err
		}
		config, err := e.ports.configs(tx, c.ModelConfigID)
		limit = prompt.ResultCap(windowOf(config), len(in.Results))
		return err
	})
	if err != nil {
		return Done{}, err
	}
	parts := map[string]chat.Part{}
	for _, r := range in.Results {
		parts[r.CallID] = prompt.EncodeResult(e.cleanResult(chat.Result{Content: contentOf(r.Output), IsError: r.IsError}), limit)
	}
	_, err = e.changeOnce(ctx, p, in.Keyed, "tool-results", in, change{chat: in.ChatID, quiet: true,
		event: func(_ *kv.Tx, c *chat.Chat) (chat.Event, error) {
			ev := chat.Event{Kind: chat.SubmitResults, OpenCalls: c.OpenCards()}
			if c.State != chat.RequiresAction {
				// The table refuses it and names the state.
				return ev, nil
			}
			return ev, exactly(c.Outstanding, in.Results)
		},
		write: func(tx *kv.Tx, c *chat.Chat, _ chat.Move) error {
			now := e.now().UTC()
			open := c.Outstanding
			c.Outstanding = nil
			for _, o := range open {
				part, here := parts[o.Call.ID]
				if !here {
					c.Outstanding = append(c.Outstanding, o)
					continue
				}
				part.CallID, part.ToolName, part.CreatedAt, part.CompletedAt = o.Call.ID, o.Call.Name, &o.AskedAt, &now
				msg := toolMessage(o.Step, part)
				if err := appendMessage(tx, c, &msg); err != nil {
					return err
				}
			}
			c.ActionDeadline = noTime
			return nil
		}})
	return Done{}, err
}

// contentOf gives text as it is and other JSON as JSON.
func contentOf(output json.RawMessage) string {
	var text string
	if json.Unmarshal(output, &text) == nil {
		return text
	}
	return string(output)
}

func checkResults(results []ClientResult) error {
	seen := map[string]bool{}
	for i, r := range results {
		field := "results[" + strconv.Itoa(i) + "]"
		if len(r.Output) == 0 || !json.Valid(r.Output) {
			return chat.Invalid(field+".output", "It must be a JSON value.")
		}
		if seen[r.CallID] {
			return chat.Invalid(field+".tool_call_id", "Call "+strconv.Quote(r.CallID)+" has two results.")
		}
		seen[r.CallID] = true
	}
	return nil
}

// exactly says what is wrong when the results are not those of the outstanding Calls.
func exactly(outstanding []chat.OutstandingCall, results []ClientResult) error {
	open := map[string]bool{}
	for _, o := range outstanding {
		if o.Kind == chat.OutstandingClient && o.Decision == "" {
			open[o.Call.ID] = true
		}
	}
	if len(open) == 0 {
		return &chat.Error{Kind: chat.KindWrongState, Message: "No call waits for a result.", Detail: "The chat's state is requires_action; a person must answer first."}
	}
	for i, r := range results {
		if !open[r.CallID] {
			return chat.Invalid("results["+strconv.Itoa(i)+"].tool_call_id", "Call "+strconv.Quote(r.CallID)+" is not outstanding.")
		}
	}
	for _, o := range outstanding {
		if open[o.Call.ID] && !slices.ContainsFunc(results, func(r ClientResult) bool { return r.CallID == o.Call.ID }) {
			return chat.Invalid("results", "There is no result for call "+strconv.Quote(o.Call.ID)+".")
		}
	}
	return nil
}
