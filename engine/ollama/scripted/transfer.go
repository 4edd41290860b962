package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Pullable is a model that /api/pull brings. Layers are sizes in bytes; each comes in Chunks pieces, Pace apart.
type Pullable struct {
	Model  Model
	Layers []int64
	Chunks int
	Pace   time.Duration
	// Fail is an error line after the first layer.
	Fail string
}

func (s *Server) pull(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model string `json:"model"`
	}
	if err := readJSON(r, &in); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	out := newLines(w, r)
	out.status("pulling manifest")
	p, known := s.source(in.Model)
	if !known {
		out.line(map[string]string{"error": "pull model manifest: file does not exist"})
		return
	}
	for i, size := range p.Layers {
		if !s.pullLayer(out, p, i, size) {
			return
		}
		if p.Fail != "" {
			out.line(map[string]string{"error": p.Fail})
			return
		}
	}
	out.status("verifying sha256 digest")
	out.status("writing manifest")
	s.Add(p.Model)
	out.status("success")
}

func (s *Server) source(name string) (Pullable, bool) {
	for _, p := range s.pullable {
		if p.Model.filled().Name == (Model{Name: name}).filled().Name {
			return p, true
		}
	}
	return Pullable{}, false
}

// pullLayer goes on where an earlier pull was cancelled; false when the client has left.
func (s *Server) pullLayer(out *lineWriter, p Pullable, i int, size int64) bool {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", p.Model.Name, i))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	step := max(1, size/int64(max(1, p.Chunks)))
	s.mu.Lock()
	done := s.pulled[digest]
	s.mu.Unlock()
	for {
		line := map[string]any{"status": "pulling " + digest[7:19], "digest": digest, "total": size}
		if done > 0 {
			line["completed"] = done
		}
		if !out.line(line) {
			return false
		}
		if done == size {
			return true
		}
		if !out.wait(p.Pace) {
			return false
		}
		done = min(size, done+step)
		s.mu.Lock()
		s.pulled[digest] = done
		s.mu.Unlock()
	}
}

func (s *Server) headBlob(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	_, there := s.blobs[r.PathValue("digest")]
	s.mu.Unlock()
	if !there {
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *Server) postBlob(w http.ResponseWriter, r *http.Request) {
	hash := sha256.New()
	n, err := io.Copy(hash, r.Body)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if "sha256:"+hex.EncodeToString(hash.Sum(nil)) != r.PathValue("digest") {
		fail(w, http.StatusBadRequest, "digest mismatch")
		return
	}
	s.mu.Lock()
	s.blobs[r.PathValue("digest")] = n
	s.mu.Unlock()
	w.WriteHeader(http.StatusCreated)
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model string            `json:"model"`
		Files map[string]string `json:"files"`
	}
	if err := readJSON(r, &in); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if in.Model == "" || len(in.Files) == 0 {
		fail(w, http.StatusBadRequest, "neither 'from' or 'files' was specified")
		return
	}
	var size int64
	for _, digest := range in.Files {
		s.mu.Lock()
		n, there := s.blobs[digest]
		s.mu.Unlock()
		if !there {
			fail(w, http.StatusBadRequest, fmt.Sprintf("blob %q does not exist", digest))
			return
		}
		size += n
	}
	out := newLines(w, r)
	out.status("parsing GGUF")
	s.Add(Model{Name: in.Model, Size: size, Capabilities: []string{"completion"}})
	out.status("writing manifest")
	out.status("success")
}
