package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
)

// Tool is one tool as its server describes it. Description and Schema are the server's own words, not cleaned.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// List is what a server offers. Notes say what of it was left out, and why.
type List struct {
	Tools []Tool
	Notes []string
}

const maxPages = 50

// Tools lists the tools, in the server's order. A tool that cannot be used is left out with a note; a list over its limits is an *Error.
func (c *Conn) Tools(ctx context.Context) (List, error) {
	var out List
	seenNames := map[string]bool{}
	size := 0
	var request mcp.ListToolsRequest
	cursors := map[mcp.Cursor]bool{}
	for page := 0; ; page++ {
		if page == maxPages || cursors[request.Params.Cursor] {
			return List{}, &Error{Kind: TooLarge, Detail: fmt.Sprintf("a list of over %d pages, or one without an end", maxPages)}
		}
		cursors[request.Params.Cursor] = true
		var got *mcp.ListToolsResult
		saw, failed := c.ask(ctx, func(ctx context.Context) (err error) {
			got, err = c.client.ListToolsByPage(ctx, request)
			return err
		})
		if failed != nil {
			return List{}, failed
		}
		var raw struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(saw.raw, &raw); err != nil {
			return List{}, &Error{Kind: Broken, Detail: "the list of tools is no list"}
		}
		for _, one := range raw.Tools {
			if size += len(one); size > c.limits.List || len(out.Tools) == c.limits.Tools {
				return List{}, &Error{Kind: TooLarge, Detail: fmt.Sprintf("over %d tools, or %d MiB of definitions", c.limits.Tools, c.limits.List>>20)}
			}
			t, why := c.readTool(one)
			if why == "" && seenNames[t.Name] {
				why = "is there twice"
			}
			if why != "" {
				out.note("The tool " + quoted(t.Name) + " is left out: it " + why + ".")
				continue
			}
			seenNames[t.Name] = true
			out.Tools = append(out.Tools, t)
		}
		if got.NextCursor == "" {
			return out, nil
		}
		request.Params.Cursor = got.NextCursor
	}
}

// note keeps the first few: a server can have any number of bad tools.
func (l *List) note(text string) {
	if len(l.Notes) < 10 {
		l.Notes = append(l.Notes, text)
	}
}

func quoted(name string) string {
	if name = Line(name, 80); name == "" {
		return "without a name"
	}
	return name
}

// readTool gives a tool, or why it cannot be used.
func (c *Conn) readTool(raw json.RawMessage) (Tool, string) {
	var t struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations json.RawMessage `json:"annotations"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return Tool{}, "has a definition that cannot be read"
	}
	out := Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema, Annotations: t.Annotations}
	switch {
	case t.Name == "" || len(t.Name) > 256 || Line(t.Name, 256) != t.Name:
		return out, "has no usable name"
	case len(raw) > c.limits.Tool:
		return out, fmt.Sprintf("has a definition over %d KiB", c.limits.Tool>>10)
	}
	if why := badSchema(t.InputSchema); why != "" {
		return out, why
	}
	return out, ""
}

// badSchema says why a schema is not that of an object, "" when it is.
func badSchema(raw json.RawMessage) string {
	var s struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	switch err := json.Unmarshal(raw, &s); {
	case len(raw) == 0:
		return "has no schema"
	case err != nil:
		return "has a schema that is none"
	case s.Type != "object" && s.Type != "":
		return "has a schema that is not that of an object"
	case depth(raw) > 32:
		return "has a schema nested too deep"
	}
	for _, p := range s.Properties {
		var v any
		if json.Unmarshal(p, &v) != nil {
			return "has a schema that is none"
		}
		switch v.(type) {
		case map[string]any, bool:
		default:
			return "has a schema with a field that is none"
		}
	}
	return ""
}

// depth is how deep valid JSON is nested.
func depth(raw []byte) int {
	most, now, inText := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch b := raw[i]; {
		case inText && b == '\\':
			i++
		case b == '"':
			inText = !inText
		case inText:
		case b == '{' || b == '[':
			now++
			most = max(most, now)
		case b == '}' || b == ']':
			now--
		}
	}
	return most
}
