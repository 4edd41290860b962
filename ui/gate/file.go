package gate

import (
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"

	"holdfast/engine/chat"
)

// filePolicy lets nothing that a person uploaded load or run anything, should a browser ever show it by itself.
const filePolicy = "default-src 'none'; sandbox; frame-ancestors 'none'"

// WriteFile answers with a File: raster images in place, everything else as a download that no browser shows.
func WriteFile(w http.ResponseWriter, r *http.Request, f chat.File, body io.Reader, log *slog.Logger) {
	h := w.Header()
	tag := fmt.Sprintf("%q", f.SHA256)
	h.Set("Content-Security-Policy", filePolicy)
	h.Set("ETag", tag)
	// A browser may keep it and asks each time whether it still may.
	h.Set("Cache-Control", "private, no-cache")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	how, media := "attachment", "application/octet-stream"
	if chat.IsPicture(f.MediaType) {
		how, media = "inline", f.MediaType
	}
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": f.Name}))
	h.Set("Content-Length", strconv.FormatInt(f.Size, 10))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(w, body); err != nil && r.Context().Err() == nil {
		log.DebugContext(r.Context(), "a file was not written whole", chat.LogError, err)
	}
}
