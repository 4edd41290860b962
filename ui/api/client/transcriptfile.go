package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// Format and version of a TranscriptFile.
const (
	TranscriptFormat  = "holdfast-chat"
	TranscriptVersion = 1
)

// TranscriptFile is a whole Chat as a file. Ids are left out: whoever imports it makes new ones.
type TranscriptFile struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// ExportedAt is when it was made; an import does not look at it.
	ExportedAt      Time              `json:"exported_at"`
	Title           string            `json:"title"`
	Labels          map[string]string `json:"labels"`
	ReasoningEffort string            `json:"reasoning_effort"`
	// SystemPrompt is the one that was given with the Chat, "" for none.
	SystemPrompt string              `json:"system_prompt"`
	Messages     []TranscriptMessage `json:"messages"`
	// Files are the bytes that file parts of Messages name: their file_id is a SHA256 here, and absent where the bytes are gone.
	Files []TranscriptBytes `json:"files,omitempty"`
}

// TranscriptBytes are the bytes of a file.
type TranscriptBytes struct {
	// SHA256 is in lower-case hexadecimal, Data in base64.
	SHA256 string `json:"sha256"`
	Data   string `json:"data"`
}

// TranscriptMessage is a Message without ids. A system Message of boundary "clear" says that the model sees nothing of what was before.
type TranscriptMessage struct {
	Role         chat.Role   `json:"role"`
	Content      []Part      `json:"content"`
	CreatedAt    Time        `json:"created_at"`
	Partial      bool        `json:"partial,omitempty"`
	FinishReason string      `json:"finish_reason,omitempty"`
	Usage        *TokenUsage `json:"usage,omitempty"`
	CostMicros   *int64      `json:"total_cost_micros,omitempty"`
	RuntimeMS    *int64      `json:"runtime_ms,omitempty"`
	Boundary     string      `json:"boundary,omitempty"`
	// Unanswered stands with the result of a compaction's card: the places in Messages, from 0, of user messages that the model is still to
	// answer. They follow the summary.
	Unanswered []int `json:"unanswered,omitempty"`
}

// Formats of Client.Export.
const (
	ExportMarkdown = "markdown"
	ExportJSON     = "json"
)

// Export gives a Chat's transcript as a file; read it whole and close it.
func (c *Client) Export(ctx context.Context, id chat.ID, format string) (io.ReadCloser, error) {
	return c.export(ctx, id, url.Values{"format": {format}})
}

// ExportBare is Export as JSON without the bytes of files.
func (c *Client) ExportBare(ctx context.Context, id chat.ID) (io.ReadCloser, error) {
	return c.export(ctx, id, url.Values{"format": {ExportJSON}, "files": {"false"}})
}

func (c *Client) export(ctx context.Context, id chat.ID, query url.Values) (io.ReadCloser, error) {
	req, err := c.request(ctx, http.MethodGet, chatPath(id, "export"), query, nil)
	if err != nil {
		return nil, err
	}
	res, err := c.do(req)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// Import makes a Chat at rest of a file that Export gave as JSON.
func (c *Client) Import(ctx context.Context, file []byte) (Chat, error) {
	var out Chat
	return out, c.call(ctx, http.MethodPost, "/chats/import", nil, rawJSON(bytes.TrimSpace(file)), &out)
}

// rawJSON is a body that is sent as it is, also where it is no JSON: the answer says what is wrong with it.
type rawJSON []byte

// Fork copies a Chat's history up to a Message, 0 for all of it, into a new Chat at rest.
func (c *Client) Fork(ctx context.Context, id chat.ID, message chat.MessageID) (Chat, error) {
	var out Chat
	return out, c.call(ctx, http.MethodPost, chatPath(id, "fork"), nil, ChatFork{Message: message}, &out)
}

// ChatFork names the last Message of the copy, 0 for all of the history.
type ChatFork struct {
	Message chat.MessageID `json:"message_id,omitempty"`
}
