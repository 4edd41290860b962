package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// ModelServer is the model server as found just now.
type ModelServer struct {
	Reachable bool          `json:"reachable"`
	Version   string        `json:"version"`
	URL       string        `json:"url"`
	Problem   string        `json:"problem,omitempty"`
	Loaded    []LoadedModel `json:"loaded"`
	// Queue is how many requests wait in front of the server.
	Queue int `json:"queue"`
	// MemoryBytes is the memory that models can use; null is unknown.
	MemoryBytes *int64 `json:"memory_bytes"`
}

// LoadedModel is a model in the server's memory.
type LoadedModel struct {
	Name      string `json:"name"`
	Size      int64  `json:"size"`
	SizeVRAM  int64  `json:"size_vram"`
	Context   int64  `json:"context_length,omitempty"`
	ExpiresAt Time   `json:"expires_at"`
}

// InstalledPage holds the models on the server's disk.
type InstalledPage struct {
	Models []chat.InstalledModel `json:"models"`
}

// Pull names a model of a registry.
type Pull struct {
	Name string `json:"name"`
}

// Transfer is one message of the stream of a pull, an import or a capability test. The last one has the Model config (null for a model that cannot
// chat) and the status done, or an error.
type Transfer struct {
	Status         string       `json:"status"`
	Completed      int64        `json:"completed"`
	Total          int64        `json:"total"`
	BytesPerSecond int64        `json:"bytes_per_second,omitempty"`
	ETASeconds     int64        `json:"eta_seconds,omitempty"`
	Model          *ModelConfig `json:"model_config,omitempty"`
	Error          *Error       `json:"error,omitempty"`
}

// Values of Transfer.Status that end the stream.
const (
	TransferDone   = "done"
	TransferFailed = "failed"
)

// ModelServer says how the model server is.
func (c *Client) ModelServer(ctx context.Context) (ModelServer, error) {
	var out ModelServer
	return out, c.call(ctx, http.MethodGet, "/model-server", nil, nil, &out)
}

// Installed lists the models on the server's disk.
func (c *Client) Installed(ctx context.Context) ([]chat.InstalledModel, error) {
	var out InstalledPage
	err := c.call(ctx, http.MethodGet, "/model-server/models", nil, nil, &out)
	return out.Models, err
}

// PullModel lets the server fetch a model; progress may be nil. The Model config is nil for a model that cannot chat.
func (c *Client) PullModel(ctx context.Context, name string, progress func(Transfer)) (*ModelConfig, error) {
	req, err := c.request(ctx, http.MethodPost, "/model-server/pull", nil, Pull{Name: name})
	if err != nil {
		return nil, err
	}
	return c.transfer(req, progress)
}

// ImportModel uploads a GGUF of size bytes and makes a model of it, as PullModel does.
func (c *Client) ImportModel(ctx context.Context, name string, gguf io.Reader, size int64, progress func(Transfer)) (*ModelConfig, error) {
	req, err := c.request(ctx, http.MethodPost, "/model-server/import", url.Values{"name": {name}}, nil)
	if err != nil {
		return nil, err
	}
	req.Body, req.ContentLength = io.NopCloser(gguf), size
	req.Header.Set("Content-Type", "application/octet-stream")
	return c.transfer(req, progress)
}

// DeleteInstalled removes a model from the server's disk.
func (c *Client) DeleteInstalled(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, "/model-server/models/"+url.PathEscape(name), nil, nil, nil)
}

func (c *Client) transfer(req *http.Request, progress func(Transfer)) (*ModelConfig, error) {
	res, err := c.do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	events := newEventReader(res.Body)
	for {
		var t Transfer
		if _, err := events.next(&t); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		switch {
		case t.Error != nil:
			return nil, &chat.Error{Kind: t.Error.Kind, Message: t.Error.Message, Detail: t.Error.Detail, Retryable: t.Error.Retryable}
		case t.Status == TransferDone:
			return t.Model, nil
		case progress != nil:
			progress(t)
		}
	}
}
