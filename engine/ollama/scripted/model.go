package scripted

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Model is one model of a Server. The zero value of every field but Name is filled in.
type Model struct {
	// Name has its tag, such as "demo:latest".
	Name          string
	Family        string
	ParameterSize string
	Quantization  string
	Size          int64
	// Capabilities; nil is completion, tools, thinking.
	Capabilities []string
	// Window is the trained window; 0 is 32768.
	Window int
	// Load is how long loading takes; Pace, the time between two pieces of a reply.
	Load time.Duration
	Pace time.Duration
	// Reads is the reading speed that it reports, in tokens per second; 0 reports next to no time. Cuts is the number of tokens that it
	// reads of a prompt, without a word about the rest; 0 is all.
	Reads int
	Cuts  int
	// Early lists the model while it loads, with an expiry counted from the moment of the question, as real servers do.
	Early bool
	// Scripts answer first, then Answer, then Fallback.
	Scripts []Script
	Answer  func(*Prompt) Reply
}

// Fallback is the reply without a Script.
const Fallback = "I have no script for that."

func (m Model) filled() Model {
	if !strings.Contains(m.Name, ":") {
		m.Name += ":latest"
	}
	if m.Family == "" {
		m.Family = "scripted"
	}
	if m.ParameterSize == "" {
		m.ParameterSize = "1M"
	}
	if m.Quantization == "" {
		m.Quantization = "F32"
	}
	if m.Size == 0 {
		m.Size = 1 << 20
	}
	if m.Capabilities == nil {
		m.Capabilities = []string{"completion", "tools", "thinking"}
	}
	if m.Window == 0 {
		m.Window = 32768
	}
	return m
}

// stock is a Model in a Server. Its mutex guards what follows it.
type stock struct {
	Model
	made time.Time

	mu       sync.Mutex
	used     map[int]int
	loadedAt time.Time
	expires  time.Time
	keep     time.Duration
	window   int
}

func (m *stock) can(capability string) bool { return slices.Contains(m.Capabilities, capability) }

// answer picks the reply to a request and counts the Script's use.
func (m *stock) answer(c *Prompt) Reply {
	m.mu.Lock()
	for i := range m.Scripts {
		s := &m.Scripts[i]
		if s.matches(c) && (s.Times == 0 || m.used[i] < s.Times) {
			m.used[i]++
			m.mu.Unlock()
			return s.Reply
		}
	}
	m.mu.Unlock()
	if m.Answer != nil {
		return m.Answer(c)
	}
	return Text(Fallback)
}

// load notes the use of a model and gives how long the caller has to wait for it, 0 when it is in memory.
func (m *stock) load(window int, keep time.Duration) time.Duration {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.After(m.expires) || m.window != window {
		m.loadedAt = now.Add(m.Load)
	}
	m.window = window
	m.keep, m.expires = keep, now.Add(m.Load+keep)
	if m.loadedAt.After(now) {
		return m.loadedAt.Sub(now)
	}
	return 0
}

// loaded says until when the model is in memory, and with which window.
func (m *stock) loaded() (expires time.Time, window int, ok bool) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Early && m.window > 0 && m.loadedAt.After(now) {
		return now.Add(m.keep), m.window, true
	}
	return m.expires, m.window, m.window > 0 && !m.loadedAt.After(now) && m.expires.After(now)
}
