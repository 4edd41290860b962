package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"time"
)

type details struct {
	Format        string   `json:"format"`
	Family        string   `json:"family"`
	Families      []string `json:"families"`
	ParameterSize string   `json:"parameter_size"`
	Quantization  string   `json:"quantization_level"`
}

func (m *stock) details() details {
	return details{"gguf", m.Family, []string{m.Family}, m.ParameterSize, m.Quantization}
}

func (m *stock) digest() string {
	sum := sha256.Sum256([]byte(m.Name + m.Family))
	return hex.EncodeToString(sum[:])
}

func (s *Server) tags(w http.ResponseWriter, _ *http.Request) {
	type entry struct {
		Name       string    `json:"name"`
		Model      string    `json:"model"`
		ModifiedAt time.Time `json:"modified_at"`
		Size       int64     `json:"size"`
		Digest     string    `json:"digest"`
		Details    details   `json:"details"`
	}
	list := []entry{}
	for _, m := range s.all() {
		list = append(list, entry{m.Name, m.Name, m.made, m.Size, m.digest(), m.details()})
	}
	writeJSON(w, http.StatusOK, map[string]any{"models": list})
}

func (s *Server) ps(w http.ResponseWriter, _ *http.Request) {
	type entry struct {
		Name      string    `json:"name"`
		Model     string    `json:"model"`
		Size      int64     `json:"size"`
		SizeVRAM  int64     `json:"size_vram"`
		Digest    string    `json:"digest"`
		Details   details   `json:"details"`
		ExpiresAt time.Time `json:"expires_at"`
		Context   int       `json:"context_length"`
	}
	list := []entry{}
	for _, m := range s.all() {
		if expires, window, ok := m.loaded(); ok {
			list = append(list, entry{m.Name, m.Name, m.Size, 0, m.digest(), m.details(), expires, window})
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{"models": list})
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	m := s.named(w, r)
	if m == nil {
		return
	}
	arch := m.Family
	writeJSON(w, http.StatusOK, map[string]any{
		"capabilities": m.Capabilities,
		"details":      m.details(),
		"template":     "{{ .Prompt }}",
		"parameters":   "",
		"model_info": map[string]any{
			"general.architecture":            arch,
			arch + ".block_count":             1,
			arch + ".context_length":          m.Window,
			arch + ".embedding_length":        160,
			arch + ".attention.head_count":    1,
			arch + ".attention.head_count_kv": 1,
			arch + ".attention.key_length":    32,
			arch + ".attention.value_length":  32,
			"tokenizer.ggml.model":            "gpt2",
		},
	})
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	m := s.named(w, r)
	if m == nil {
		return
	}
	s.mu.Lock()
	s.models = slices.DeleteFunc(s.models, func(o *stock) bool { return o == m })
	s.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}
