package seal

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// inside are the fields of sealed records that are secret by themselves; the others say whose they are, and where they are good.
var inside = []string{"access", "refresh", "secret", "verifier", "auth"}

// parts gives what is secret in a text that is a record or a list of them: of headers every value, of a browser its address, too.
func parts(name, text string) (out []string) {
	var list []map[string]any
	if json.Unmarshal([]byte(text), &list) != nil {
		var one map[string]any
		if json.Unmarshal([]byte(text), &one) != nil {
			return nil
		}
		list = append(list, one)
	}
	headers, browser := strings.HasSuffix(name, "/custom_headers"), strings.HasPrefix(name, kv.PushSecret(""))
	for _, record := range list {
		for field, value := range record {
			s, _ := value.(string)
			if headers || slices.Contains(inside, field) || browser && field == "endpoint" {
				out = append(out, s)
			}
		}
	}
	return out
}

// AddRecord makes what was sealed under a name known, and what is secret in it by itself where it is a record.
func (f *Filter) AddRecord(name string, s chat.Secret) {
	f.Add(s)
	for _, part := range parts(name, s.Reveal()) {
		f.Add(chat.NewSecret(part))
	}
}
