package model

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"holdfast/engine/chat"
)

// Nullable is a field of a change that may be absent (not Set: leave it), null (Set, no Value: empty it) or hold a value.
type Nullable[T any] struct {
	Set   bool
	Value *T
}

// Null empties the field.
func Null[T any]() Nullable[T] { return Nullable[T]{Set: true} }

// Some sets the field to v.
func Some[T any](v T) Nullable[T] { return Nullable[T]{Set: true, Value: &v} }

// UnmarshalJSON is only called for a field that is there.
func (n *Nullable[T]) UnmarshalJSON(b []byte) error {
	n.Set, n.Value = true, nil
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	n.Value = new(T)
	return json.Unmarshal(b, n.Value)
}

// MarshalJSON writes null for an empty field; fields that are not Set are left out by omitzero.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.Value) }

// IsZero says that the field is absent.
func (n Nullable[T]) IsZero() bool { return !n.Set }

// Fields are what a person sets of a Model config; nil or absent ones keep their value. Options are replaced as a whole.
type Fields struct {
	Name     *string `json:"name,omitempty"`
	Provider *string `json:"provider,omitempty"`
	// BaseURL is the address of a server of the provider openai_compatible; empty for the others.
	BaseURL *string `json:"base_url,omitempty"`
	// APIKey is sealed and never given back; "" removes it. A BaseURL on another server removes it too.
	APIKey *chat.Secret `json:"api_key,omitempty"`
	Model  *string      `json:"model,omitempty"`
	// ContextLimit is in tokens; null asks the model server.
	ContextLimit        Nullable[int64] `json:"context_limit,omitzero"`
	Options             *chat.Options   `json:"options,omitempty"`
	CompactionThreshold Nullable[int]   `json:"compaction_threshold,omitzero"`
	Tools               *string         `json:"tools,omitempty"`
	SendReasoning       *bool           `json:"send_reasoning,omitempty"`
	// Prices are decimal strings per million tokens; null is no price, "0" is free.
	PriceInput  Nullable[string] `json:"price_input,omitzero"`
	PriceOutput Nullable[string] `json:"price_output,omitzero"`
	PriceCached Nullable[string] `json:"price_cached,omitzero"`
	Enabled     *bool            `json:"enabled,omitempty"`
	IsDefault   *bool            `json:"is_default,omitempty"`
}

// complete checks what a new config cannot do without.
func (f Fields) complete() error {
	var v []chat.Validation
	if f.Provider == nil || *f.Provider == "" {
		v = append(v, chat.Validation{Field: "provider", Detail: "name the provider: " + providerNames})
	}
	if f.Model == nil || strings.TrimSpace(*f.Model) == "" {
		v = append(v, chat.Validation{Field: "model", Detail: "name the model as the model server lists it"})
	}
	if f.IsDefault != nil && *f.IsDefault && f.Enabled != nil && !*f.Enabled {
		v = append(v, chat.Validation{Field: "is_default", Detail: disabledDefault})
	}
	return refuse(v)
}

const providerNames = chat.ProviderOllama + " or " + chat.ProviderOpenAI

const disabledDefault = "a model that is not enabled cannot be the default"

// apply copies the fields that are set into c. A new window is a person's choice and may be halved once more.
func (f Fields) apply(c *chat.ModelConfig) {
	set(&c.Name, f.Name)
	set(&c.Provider, f.Provider)
	set(&c.BaseURL, f.BaseURL)
	if clean, why := cleanBase(c.BaseURL); why == "" && c.Provider == chat.ProviderOpenAI {
		c.BaseURL = clean
	}
	if f.BaseURL == nil && c.Provider != chat.ProviderOpenAI {
		c.BaseURL = ""
	}
	set(&c.Tools, f.Tools)
	set(&c.SendReasoning, f.SendReasoning)
	set(&c.Enabled, f.Enabled)
	set(&c.IsDefault, f.IsDefault)
	c.Name = strings.TrimSpace(c.Name)
	if f.Model != nil {
		c.Model = strings.TrimSpace(*f.Model)
		if c.Provider != chat.ProviderOpenAI {
			c.Model = tagged(c.Model)
		}
	}
	if f.Options != nil {
		c.Options = *f.Options
	}
	if f.ContextLimit.Set {
		c.ContextLimit = f.ContextLimit.Value
	}
	if f.Options != nil || f.ContextLimit.Set {
		c.WindowHalved = false
	}
	if f.CompactionThreshold.Set {
		c.CompactionThreshold = f.CompactionThreshold.Value
	}
	if f.PriceInput.Set {
		c.PriceInput = f.PriceInput.Value
	}
	if f.PriceOutput.Set {
		c.PriceOutput = f.PriceOutput.Value
	}
	if f.PriceCached.Set {
		c.PriceCached = f.PriceCached.Value
	}
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// tagged adds the tag that the model server would assume. A colon before the last slash belongs to a registry's port.
func tagged(model string) string {
	model = strings.TrimSpace(model)
	if model == "" || strings.Contains(model[strings.LastIndex(model, "/")+1:], ":") {
		return model
	}
	return model + ":latest"
}

// shortName is how a model is called in a list: without the tag that says nothing.
func shortName(model string) string { return strings.TrimSuffix(model, ":latest") }

// freeName gives name, or name with the first free number behind it.
func freeName(name string, all []*chat.ModelConfig) string {
	free := name
	for n := 2; taken(free, "", all); n++ {
		free = name + " (" + strconv.Itoa(n) + ")"
	}
	return free
}

// taken says whether another config than self has the name; commands name configs by it, without case.
func taken(name string, self chat.ModelConfigID, all []*chat.ModelConfig) bool {
	for _, c := range all {
		if c.ID != self && strings.EqualFold(c.Name, name) {
			return true
		}
	}
	return false
}
