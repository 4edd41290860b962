package chat

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

const hidden = "***"

// Secret is a text that is used but never shown: it prints as *** in every format and marshals to {"set": true}. Only Reveal gives
// the text; the one caller that needs it is the one that sends it on. The zero value is no secret.
type Secret struct {
	// A func, since fmt walks through the unexported fields of others and would print a text.
	reveal func() string
}

// NewSecret hides a text; "" is no secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return text }}
}

// Reveal gives the text, "" for none.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Set says whether there is a text.
func (s Secret) Set() bool { return s.reveal != nil }

// String, GoString and Format print ***.
func (s Secret) String() string             { return hidden }
func (s Secret) GoString() string           { return hidden }
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// LogValue logs ***.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText gives *** to all encodings that are not JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// MarshalJSON says only whether there is a text.
func (s Secret) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Set bool `json:"set"`
	}{s.Set()})
}

// UnmarshalJSON takes a text from a request.
func (s *Secret) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return fmt.Errorf("a secret is written as a text")
	}
	*s = NewSecret(text)
	return nil
}
