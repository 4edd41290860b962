package ui

import (
	"bytes"
	"compress/gzip"
	"net/http"

	"github.com/a-h/templ"

	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/static"
	"holdfast/ui/view"
)

// packFrom is the size from which a document is compressed, in bytes.
const packFrom = 1400

// page is what every document needs.
func (s *Site) page(title string) view.Page {
	return view.Page{Title: title, Assets: s.assets.URL, Icons: s.icons}
}

// document answers with a whole page.
func (s *Site) document(w http.ResponseWriter, r *http.Request, status int, c templ.Component) {
	var b bytes.Buffer
	p := gate.Principal(r.Context())
	if err := c.Render(view.SeenBy(r.Context(), view.Viewer{Name: p.Name, Admin: p.Admin()}), &b); err != nil {
		if r.Context().Err() == nil {
			s.log.ErrorContext(r.Context(), "a page could not be rendered", chat.LogError, err)
		}
		http.Error(w, "The page could not be made; the log says why.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept-Encoding")
	body := b.Bytes()
	if len(body) >= packFrom && static.TakesGzip(r) {
		if packed, err := packDocument(body); err == nil {
			h.Set("Content-Encoding", "gzip")
			body = packed
		}
	}
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil && r.Context().Err() == nil {
		s.log.DebugContext(r.Context(), "a page was not written whole", chat.LogError, err)
	}
}

func packDocument(body []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

// body writes a page whose head is sent already.
func (s *Site) body(w http.ResponseWriter, r *http.Request, c templ.Component) {
	if err := c.Render(r.Context(), w); err != nil && r.Context().Err() == nil {
		s.log.DebugContext(r.Context(), "a page was not written whole", chat.LogError, err)
	}
}

// fragment answers with elements that a page puts in place.
func (s *Site) fragment(w http.ResponseWriter, r *http.Request, c templ.Component) {
	s.document(w, r, http.StatusOK, c)
}

// refused shows what was wrong with a form. A page drops the body of every status but 200; a program reads nothing but the status.
func (s *Site) refused(w http.ResponseWriter, r *http.Request, c templ.Component) {
	status := http.StatusUnprocessableEntity
	if fromPage(r) {
		status = http.StatusOK
	}
	s.document(w, r, status, c)
}
