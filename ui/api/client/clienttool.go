package client

import (
	"context"
	"encoding/json"
	"net/http"

	"holdfast/engine/chat"
)

// ClientTool is a tool that the program runs which makes a Chat; the model is offered it behind the built-in ones. The schema is a JSON
// Schema of type object.
type ClientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// ToolResults answer all outstanding Calls of such tools.
type ToolResults struct {
	Results []ToolResult `json:"results"`
}

// ToolResult answers one Call with any JSON value.
type ToolResult struct {
	CallID  string          `json:"tool_call_id"`
	Output  json.RawMessage `json:"output"`
	IsError bool            `json:"is_error,omitempty"`
}

// SubmitResults answers the outstanding Calls of the Chat's own tools; the Turn goes on.
func (c *Client) SubmitResults(ctx context.Context, id chat.ID, in ToolResults) error {
	return c.call(ctx, http.MethodPost, chatPath(id, "tool-results"), nil, in, nil)
}
