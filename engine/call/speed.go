package call

import (
	"sync"

	"holdfast/engine/chat"
)

// speed is what calls have shown, in tokens per second; 0 is unknown.
type speed struct{ prefill, eval float64 }

// served is a model on the server where it runs; the same model is fast on one and slow on another.
type served struct{ provider, baseURL, model string }

func servedBy(req *chat.Request) served { return served{req.Provider, req.BaseURL, req.Model} }

// speeds keeps what was measured.
type speeds struct {
	mu sync.Mutex // guards by
	by map[served]speed
}

func newSpeeds() *speeds { return &speeds{by: map[served]speed{}} }

func (s *speeds) of(req *chat.Request) speed {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.by[servedBy(req)]
	if v.prefill <= 0 {
		v.prefill = req.Speed.Prefill
	}
	if v.eval <= 0 {
		v.eval = req.Speed.Eval
	}
	return v
}

// Counts too small to measure a speed with, and the time of loading that shows that nothing was in the cache.
const (
	minPromptTokens = 64
	minEvalTokens   = 8
	coldLoadSeconds = 0.2
)

func (s *speeds) learn(req *chat.Request, reply chat.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := servedBy(req)
	v := s.by[at]
	if n := reply.Usage.OutputTokens; n != nil && *n >= minEvalTokens && reply.Eval > 0 {
		v.eval = float64(*n) / reply.Eval.Seconds()
	}
	v.prefill = prefill(v.prefill, reply)
	s.by[at] = v
}

// prefill learns from replies of a model that was just loaded. Later counts include tokens from the cache that took no time, so
// the speed they show is never below the true one: they can lower what is known, never set or raise it.
func prefill(known float64, reply chat.Reply) float64 {
	n := reply.Usage.InputTokens
	if n == nil || *n < minPromptTokens || reply.Prompt <= 0 {
		return known
	}
	shown := float64(*n) / reply.Prompt.Seconds()
	if cached := reply.Usage.CacheReadTokens; cached != nil {
		if fresh := *n - *cached; fresh >= minPromptTokens {
			return float64(fresh) / reply.Prompt.Seconds()
		}
		return known
	}
	if reply.Load.Seconds() >= coldLoadSeconds {
		return shown
	}
	if known > 0 {
		return min(known, shown)
	}
	return 0
}
