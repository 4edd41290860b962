package client

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"holdfast/engine/chat"
)

// ModelConfig is a named model with its options, window and price.
type ModelConfig struct {
	ID       chat.ModelConfigID `json:"id"`
	Name     string             `json:"name"`
	Provider string             `json:"provider"`
	BaseURL  string             `json:"base_url"`
	// HasAPIKey: a key is stored; it is never shown.
	HasAPIKey bool   `json:"has_api_key"`
	Model     string `json:"model"`
	// ContextLimit is in tokens; null asks the model server.
	ContextLimit        *int64       `json:"context_limit"`
	Options             chat.Options `json:"options"`
	CompactionThreshold *int         `json:"compaction_threshold"`
	// Tools is auto, native, text, json or off. FoundTools is what auto begins with: native, or text or json since the model was found to
	// make no native calls; "" for the others.
	Tools      string `json:"tools"`
	FoundTools string `json:"found_tools"`
	// SendReasoning: what the model thought goes back to it.
	SendReasoning bool `json:"send_reasoning"`
	// Prices are decimal strings per million tokens; null is none, "0" is free.
	PriceInput   *string  `json:"price_input"`
	PriceOutput  *string  `json:"price_output"`
	PriceCached  *string  `json:"price_cached"`
	Enabled      bool     `json:"enabled"`
	IsDefault    bool     `json:"is_default"`
	Capabilities []string `json:"capabilities"`
	// Probe is the last capability test that came to an end, ProbeFailed why a later one did not; null without one.
	Probe       *Probe       `json:"probe"`
	ProbeFailed *ProbeFailed `json:"probe_failed"`
	CreatedAt   Time         `json:"created_at"`
}

// Probe is what a capability test found out.
type Probe struct {
	At     Time  `json:"at"`
	TookMS int64 `json:"took_ms"`
	// Window is num_ctx during the test; RealWindow how many tokens were seen to be read, null when that was not measured.
	Window     int64  `json:"window"`
	RealWindow *int64 `json:"real_window"`
	// Speeds are in tokens per second, null when the server does not tell.
	PrefillSpeed *float64       `json:"prefill_speed"`
	EvalSpeed    *float64       `json:"eval_speed"`
	Findings     []chat.Finding `json:"findings"`
}

// ProbeFailed is why a capability test came to no result.
type ProbeFailed struct {
	At     Time   `json:"at"`
	Reason string `json:"reason"`
}

// ModelPage holds all Model configs, the default first.
type ModelPage struct {
	Models []ModelConfig `json:"models"`
}

// ModelFields are what a person sets of a Model config; nil or absent ones keep their value. Options are replaced as a whole.
type ModelFields struct {
	Name     *string `json:"name,omitempty"`
	Provider *string `json:"provider,omitempty"`
	BaseURL  *string `json:"base_url,omitempty"`
	// APIKey is stored sealed and never given back; "" removes it, nil keeps it as long as BaseURL stays on its server.
	APIKey              *string          `json:"api_key,omitempty"`
	Model               *string          `json:"model,omitempty"`
	ContextLimit        Nullable[int64]  `json:"context_limit,omitzero"`
	Options             *chat.Options    `json:"options,omitempty"`
	CompactionThreshold Nullable[int]    `json:"compaction_threshold,omitzero"`
	Tools               *string          `json:"tools,omitempty"`
	SendReasoning       *bool            `json:"send_reasoning,omitempty"`
	PriceInput          Nullable[string] `json:"price_input,omitzero"`
	PriceOutput         Nullable[string] `json:"price_output,omitzero"`
	PriceCached         Nullable[string] `json:"price_cached,omitzero"`
	Enabled             *bool            `json:"enabled,omitempty"`
	IsDefault           *bool            `json:"is_default,omitempty"`
}

// Nullable is a field that may be absent (not Set), null (Set, no Value), or hold a value.
type Nullable[T any] struct {
	Set   bool
	Value *T
}

// Some sets a field.
func Some[T any](v T) Nullable[T] { return Nullable[T]{Set: true, Value: &v} }

// Null empties a field.
func Null[T any]() Nullable[T] { return Nullable[T]{Set: true} }

// UnmarshalJSON is only called for a field that is there.
func (n *Nullable[T]) UnmarshalJSON(b []byte) error {
	n.Set, n.Value = true, nil
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	n.Value = new(T)
	return json.Unmarshal(b, n.Value)
}

// MarshalJSON writes null for an empty field.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.Value) }

// IsZero says that the field is absent.
func (n Nullable[T]) IsZero() bool { return !n.Set }

// Models lists all Model configs.
func (c *Client) Models(ctx context.Context) ([]ModelConfig, error) {
	var out ModelPage
	err := c.call(ctx, http.MethodGet, "/models", nil, nil, &out)
	return out.Models, err
}

// CreateModel adds a Model config; provider and model must be there.
func (c *Client) CreateModel(ctx context.Context, in ModelFields) (ModelConfig, error) {
	var out ModelConfig
	return out, c.call(ctx, http.MethodPost, "/models", nil, in, &out)
}

// Model gives one Model config.
func (c *Client) Model(ctx context.Context, id chat.ModelConfigID) (ModelConfig, error) {
	var out ModelConfig
	return out, c.call(ctx, http.MethodGet, modelPath(id), nil, nil, &out)
}

// UpdateModel changes the fields that are set.
func (c *Client) UpdateModel(ctx context.Context, id chat.ModelConfigID, in ModelFields) (ModelConfig, error) {
	var out ModelConfig
	return out, c.call(ctx, http.MethodPatch, modelPath(id), nil, in, &out)
}

// DeleteModel removes a Model config; the model stays on the server.
func (c *Client) DeleteModel(ctx context.Context, id chat.ModelConfigID) error {
	return c.call(ctx, http.MethodDelete, modelPath(id), nil, nil, nil)
}

// Threshold is at how much of its window, in percent, one's own chats with a model are compacted: 100 is never. ThresholdPercent is null where
// one chose nothing; Effective is what counts.
type Threshold struct {
	ThresholdPercent *int `json:"threshold_percent"`
	Effective        int  `json:"effective_percent"`
}

// ThresholdUpdate is one's choice; null goes back to the model's.
type ThresholdUpdate struct {
	ThresholdPercent *int `json:"threshold_percent"`
}

// Threshold gives at how much of its window one's own chats with a model are compacted.
func (c *Client) Threshold(ctx context.Context, id chat.ModelConfigID) (Threshold, error) {
	var out Threshold
	return out, c.call(ctx, http.MethodGet, thresholdPath(id), nil, nil, &out)
}

// SetThreshold sets it; nil goes back to the model's.
func (c *Client) SetThreshold(ctx context.Context, id chat.ModelConfigID, percent *int) (Threshold, error) {
	var out Threshold
	return out, c.call(ctx, http.MethodPut, thresholdPath(id), nil, ThresholdUpdate{ThresholdPercent: percent}, &out)
}

func thresholdPath(id chat.ModelConfigID) string {
	return "/chats/config/user-compaction-thresholds/" + url.PathEscape(string(id))
}

// ProbeModel tests what a model can do and keeps the result with its config; progress may be nil. It can take minutes.
func (c *Client) ProbeModel(ctx context.Context, id chat.ModelConfigID, progress func(Transfer)) (*ModelConfig, error) {
	req, err := c.request(ctx, http.MethodPost, modelPath(id)+"/probe", nil, nil)
	if err != nil {
		return nil, err
	}
	return c.transfer(req, progress)
}

func modelPath(id chat.ModelConfigID) string { return "/models/" + url.PathEscape(string(id)) }
