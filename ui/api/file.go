package api

import (
	"net/http"
	"net/url"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/file"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

func (a *API) fileEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodPost, path: "/files", summary: "Upload a file of at most 10 MiB, sent as the body. X-File-Name has its name, percent-encoded. Its " +
			"type is found from its bytes. One that is sent in no chat goes after a day.", rawBody: "application/octet-stream", maxBody: chat.MaxFileBytes,
			handler: http.HandlerFunc(a.upload), out: map[int]any{http.StatusCreated: client.File{}}},
		{method: http.MethodGet, path: "/files/{id}", summary: "Get the bytes of a file. Only raster images have their own type.", rawOut: true,
			handler: http.HandlerFunc(a.download), out: map[int]any{http.StatusOK: nil, http.StatusNotModified: nil}},
	}
}

func (a *API) upload(w http.ResponseWriter, r *http.Request) {
	f, err := a.o.Files.Upload(r.Context(), gate.Principal(r.Context()), file.UploadInput{Name: fileName(r.Header.Get("X-File-Name")), Body: r.Body})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	a.write(w, r, http.StatusCreated, shownFile(&f, false))
}

// fileName reads a name from a header, which cannot hold every sign as it is.
func fileName(header string) string {
	if name, err := url.PathUnescape(header); err == nil {
		return name
	}
	return header
}

func (a *API) download(w http.ResponseWriter, r *http.Request) {
	o, err := a.o.Files.Open(r.Context(), gate.Principal(r.Context()), file.OpenInput{FileID: chat.FileID(r.PathValue("id"))})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	defer o.Body.Close()
	gate.WriteFile(w, r, o.File, o.Body, a.o.Log)
}

func shownFile(f *chat.File, gone bool) client.File {
	return client.File{ID: f.ID, Name: f.Name, MediaType: f.MediaType, Size: f.Size, SHA256: f.SHA256, Gone: gone || f.Dropped}
}

func shownFiles(files []engine.File) []client.File {
	out := make([]client.File, 0, len(files))
	for _, f := range files {
		out = append(out, shownFile(f.File, f.Gone))
	}
	return out
}
