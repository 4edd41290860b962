package ollama

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine/chat"
)

// shown is what /api/show tells of a model, as far as the product uses it.
type shown struct {
	capabilities []string
	family       string
	// trained is the window in tokens that the model was made for, 0 when unknown.
	trained int64
	// kvToken is the bytes of cache per token of the window, 0 when unknown.
	kvToken int64
}

func (s shown) can(capability string) bool { return slices.Contains(s.capabilities, capability) }

// levels: only gpt-oss takes thinking levels; elsewhere the server refuses them.
func (s shown) levels() bool {
	return s.family == "gptoss" || s.family == "gpt-oss"
}

// showCache keeps answers by name for a short time and by digest, which names the content, for as long as the model is there.
type showCache struct {
	// mu guards both maps.
	mu       sync.Mutex
	byName   map[string]shownAt
	byDigest map[string]shown
}

type shownAt struct {
	shown
	until time.Time
}

func newShowCache() *showCache {
	return &showCache{byName: map[string]shownAt{}, byDigest: map[string]shown{}}
}

func (c *showCache) named(name string) (shown, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.byName[name]
	return s.shown, ok && time.Now().Before(s.until)
}

func (c *showCache) digested(digest string) (shown, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.byDigest[digest]
	return s, ok
}

func (c *showCache) keep(name, digest string, s shown) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for k, old := range c.byName {
		if !now.Before(old.until) {
			delete(c.byName, k)
		}
	}
	c.byName[name] = shownAt{shown: s, until: now.Add(showTTL)}
	if digest != "" {
		c.byDigest[digest] = s
	}
}

// forget drops a name that now means something else, or nothing.
func (c *showCache) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byName, name)
}

// only drops the digests that the server no longer has.
func (c *showCache) only(digests map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for d := range c.byDigest {
		if !digests[d] {
			delete(c.byDigest, d)
		}
	}
}

// show gives what the server tells of a model; digest may be empty.
func (a *Adapter) show(ctx context.Context, name, digest string) (shown, error) {
	if s, ok := a.shown.digested(digest); ok && digest != "" {
		return s, nil
	}
	if s, ok := a.shown.named(name); ok && digest == "" {
		return s, nil
	}
	asking, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	var answer struct {
		Capabilities []string `json:"capabilities"`
		Details      struct {
			Family string `json:"family"`
		} `json:"details"`
		Info modelInfo `json:"model_info"`
	}
	err := a.fetch(asking, http.MethodPost, "/api/show", map[string]string{"model": name}, &answer)
	if err != nil && asking.Err() != nil && ctx.Err() == nil {
		return shown{}, &chat.Fault{Text: "no answer about the model in time", Address: a.address, Err: err}
	}
	if err != nil {
		return shown{}, err
	}
	s := shown{
		capabilities: answer.Capabilities,
		family:       answer.Details.Family,
		trained:      answer.Info.number("context_length"),
		kvToken:      answer.Info.kvPerToken(),
	}
	if s.capabilities == nil {
		s.capabilities = []string{}
	}
	a.shown.keep(name, digest, s)
	return s, nil
}

// modelInfo is the metadata of a GGUF file as /api/show gives it; keys begin with the architecture's name.
type modelInfo map[string]json.RawMessage

func (m modelInfo) arch() string {
	var s string
	if json.Unmarshal(m["general.architecture"], &s) != nil {
		return ""
	}
	return s
}

// number reads a value of the architecture: a number, or of a list with one value per layer the largest. 0 when it is missing.
func (m modelInfo) number(key string) int64 {
	raw := m[m.arch()+"."+key]
	var n float64
	if json.Unmarshal(raw, &n) == nil {
		return int64(n)
	}
	var list []float64
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return int64(slices.Max(list))
	}
	return 0
}

// kvPerToken is layers x heads x (key + value) x 2 bytes. Models that keep less (sliding windows, state spaces) are
// overestimated, which errs on the side of fitting.
func (m modelInfo) kvPerToken() int64 {
	layers, heads := m.number("block_count"), m.number("attention.head_count")
	kvHeads := m.number("attention.head_count_kv")
	if kvHeads == 0 {
		kvHeads = heads
	}
	key, value := m.number("attention.key_length"), m.number("attention.value_length")
	if key == 0 && heads > 0 {
		key = m.number("embedding_length") / heads
	}
	if value == 0 {
		value = key
	}
	return layers * kvHeads * (key + value) * 2
}

// sameModel compares names as the server does: without a tag, latest is meant.
func sameModel(a, b string) bool { return strings.EqualFold(fullName(a), fullName(b)) }

func fullName(name string) string {
	if strings.Contains(name[strings.LastIndex(name, "/")+1:], ":") {
		return name
	}
	return name + ":latest"
}
