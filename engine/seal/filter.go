package seal

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"holdfast/engine/chat"
)

// shortest is the length in bytes from which on a secret is looked for. Shorter ones stand in too many words that are no secret.
const shortest = 8

// Filter knows the secrets in use and takes them out of what is written. The zero value knows none; it is safe for concurrent use.
type Filter struct {
	// mu guards known and the making of replace.
	mu      sync.Mutex
	known   map[string]bool
	replace atomic.Pointer[strings.Replacer]
}

// Add makes a secret known, for as long as the process runs: what was written about it may still be on its way.
func (f *Filter) Add(s chat.Secret) {
	text := s.Reveal()
	if len(text) < shortest {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[text] {
		return
	}
	if f.known == nil {
		f.known = map[string]bool{}
	}
	f.known[text] = true
	// The longest first: a secret may begin with another one.
	all := slices.SortedFunc(maps.Keys(f.known), func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, known := range all {
		for _, form := range forms(known) {
			pairs = append(pairs, form, "***")
		}
	}
	f.replace.Store(strings.NewReplacer(pairs...))
}

// forms are the ways in which the writers of logs may write a text.
func forms(text string) []string {
	out := []string{text, inner(strconv.Quote(text))}
	if b, err := json.Marshal(text); err == nil {
		out = append(out, inner(string(b)))
	}
	return out
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// Clean gives the text with *** in the place of each known secret.
func (f *Filter) Clean(text string) string {
	if r := f.replace.Load(); r != nil {
		return r.Replace(text)
	}
	return text
}
