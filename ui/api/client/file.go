package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// File is what somebody uploaded.
type File struct {
	ID   chat.FileID `json:"id"`
	Name string      `json:"name"`
	// MediaType was found from the bytes; all text is text/plain.
	MediaType string `json:"media_type"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	// Gone: the bytes are no longer kept.
	Gone bool `json:"gone,omitempty"`
}

// FileInput is a Part that names an uploaded File.
func FileInput(f File) Input { return Input{Type: chat.PartFile, FileID: f.ID} }

// Upload sends a file of at most chat.MaxFileBytes.
func (c *Client) Upload(ctx context.Context, name string, body io.Reader) (File, error) {
	var out File
	req, err := c.request(ctx, http.MethodPost, "/files", nil, nil)
	if err != nil {
		return out, err
	}
	req.Body = io.NopCloser(body)
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("X-File-Name", url.PathEscape(name))
	return out, c.decode(req, &out)
}

// Download gives the bytes of a File.
func (c *Client) Download(ctx context.Context, id chat.FileID) ([]byte, error) {
	req, err := c.request(ctx, http.MethodGet, "/files/"+url.PathEscape(string(id)), nil, nil)
	if err != nil {
		return nil, err
	}
	res, err := c.do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, chat.MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the file %s: %w", id, err)
	}
	return b, nil
}
