package seal

import (
	"cmp"
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

// mostPassing is how many passing secrets are known at a time. Sign-ins elsewhere make new ones all the time, and each costs what is written.
const mostPassing = 4096

// Filter knows the secrets in use and takes them out of what is written. The zero value knows none; it is safe for concurrent use.
type Filter struct {
	// mu guards known, passing, now and the making of replace.
	mu    sync.Mutex
	known map[string]bool
	// passing says when each was added last, counted in additions.
	passing map[string]uint64
	now     uint64
	replace atomic.Pointer[strings.Replacer]
	// stale: more is known than is replaced.
	stale atomic.Bool
}

// Add makes a secret known, for as long as the process runs: what was written about it may still be on its way.
func (f *Filter) Add(s chat.Secret) { f.add(s, false) }

// AddPassing makes a secret known that others will soon take the place of. Whoever is about to use one adds it again: where there are too many,
// those that were not used for longest are forgotten.
func (f *Filter) AddPassing(s chat.Secret) { f.add(s, true) }

func (f *Filter) add(s chat.Secret, passing bool) {
	text := s.Reveal()
	if len(text) < shortest {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known, f.passing = map[string]bool{}, map[string]uint64{}
	}
	_, there := f.passing[text]
	switch {
	case f.known[text]:
		return
	case passing:
		f.now++
		f.passing[text] = f.now
	default:
		delete(f.passing, text)
		f.known[text] = true
	}
	if there {
		return
	}
	if len(f.passing) > mostPassing {
		f.forget()
	}
	// Made anew when something is written next, not at each of many additions.
	f.stale.Store(true)
}

// replacer gives what replaces all that is known, nil for nothing.
func (f *Filter) replacer() *strings.Replacer {
	if !f.stale.Load() {
		return f.replace.Load()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.stale.Load() {
		return f.replace.Load()
	}
	// The longest first: a secret may begin with another one.
	all := slices.AppendSeq(slices.Collect(maps.Keys(f.known)), maps.Keys(f.passing))
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, known := range all {
		for _, form := range slices.Compact(forms(known)) {
			pairs = append(pairs, form, "***")
		}
	}
	r := strings.NewReplacer(pairs...)
	f.replace.Store(r)
	f.stale.Store(false)
	return r
}

// forget keeps three quarters, so that it is not done at each addition. It needs mu.
func (f *Filter) forget() {
	oldest := slices.SortedFunc(maps.Keys(f.passing), func(a, b string) int { return cmp.Compare(f.passing[a], f.passing[b]) })
	for _, text := range oldest[:len(oldest)-mostPassing*3/4] {
		delete(f.passing, text)
	}
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
	if r := f.replacer(); r != nil {
		return r.Replace(text)
	}
	return text
}
