package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed app.css tokens.css app.js queue.js attach.js notices.js notices-worker.js push.js push-worker.js icons.svg vendor
var files embed.FS

// Prefix is the path below which the files are served.
const Prefix = "/static/"

// Assets gives names and contents of the files. It is safe for concurrent use.
type Assets struct {
	fsys fs.FS
	live bool
	// table is built at the first request and never changes; with live it is not used.
	table func() map[string]asset
}

type asset struct {
	url  string
	body []byte
	// packed is the body under gzip, nil where that is not smaller.
	packed []byte
}

// New serves the embedded files, or those of dir when it is not empty.
func New(dir string) (*Assets, error) {
	if dir == "" {
		a := &Assets{fsys: files}
		a.table = sync.OnceValue(a.read)
		return a, nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("assets directory %s: not a directory", dir)
	}
	return &Assets{fsys: os.DirFS(dir), live: true}, nil
}

// URL gives the address of a file, such as "app.css" or "vendor/datastar.js". A file that does not exist gives an address that
// answers 404.
func (a *Assets) URL(name string) string {
	if !a.live {
		if f, ok := a.table()[name]; ok {
			return f.url
		}
		return Prefix + name
	}
	body, err := fs.ReadFile(a.fsys, name)
	if err != nil {
		return Prefix + name
	}
	return hashed(name, body)
}

// Missing names the files that a page needs and the binary does not have.
func (a *Assets) Missing() []string {
	var out []string
	for _, name := range []string{"app.css", "tokens.css", "app.js", "queue.js", "attach.js", "notices.js", "notices-worker.js", "push.js", "push-worker.js", "icons.svg", "vendor/datastar.js"} {
		if _, err := fs.Stat(a.fsys, name); err != nil {
			out = append(out, name)
		}
	}
	return out
}

// Icons gives the symbols that each page has inside, once.
func (a *Assets) Icons() (string, error) {
	body, err := fs.ReadFile(a.fsys, "icons.svg")
	return string(body), err
}

// ServeHTTP answers GET and HEAD below Prefix. A hashed address is immutable; an address with an outdated hash is 404, since it would be kept for ever under the wrong
// name.
func (a *Assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Only GET and HEAD.", http.StatusMethodNotAllowed)
		return
	}
	name, hash := unhash(strings.TrimPrefix(r.URL.Path, Prefix))
	body, err := a.body(name)
	if err != nil || (hash != "" && !a.live && a.URL(name) != r.URL.Path) {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if hash != "" && !a.live {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		w.Header().Set("Cache-Control", "no-cache")
	}
	w.Header().Add("Vary", "Accept-Encoding")
	if !a.live && TakesGzip(r) {
		if packed := a.table()[name].packed; packed != nil {
			w.Header().Set("Content-Encoding", "gzip")
			body = packed
		}
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
}

func (a *Assets) body(name string) ([]byte, error) {
	if a.live {
		return fs.ReadFile(a.fsys, name)
	}
	f, ok := a.table()[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return f.body, nil
}

func (a *Assets) read() map[string]asset {
	out := map[string]asset{}
	err := fs.WalkDir(a.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(a.fsys, name)
		out[name] = asset{url: hashed(name, body), body: body, packed: pack(body)}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic("static: " + err.Error()) // the embedded files cannot fail to be read
	}
	return out
}

// TakesGzip says whether the reader of an answer understands gzip.
func TakesGzip(r *http.Request) bool {
	for _, field := range r.Header.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(field, ",") {
			name, q, _ := strings.Cut(strings.TrimSpace(coding), ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") && !strings.HasSuffix(strings.ReplaceAll(q, " ", ""), "q=0") {
				return true
			}
		}
	}
	return false
}

func pack(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil || b.Len() >= len(body) {
		return nil
	}
	return b.Bytes()
}

func hashed(name string, body []byte) string {
	sum := sha256.Sum256(body)
	ext := path.Ext(name)
	return Prefix + strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
}

// unhash takes the twelve hex digits out of app.0123456789ab.css; hash is empty when there are none.
func unhash(name string) (plain, hash string) {
	ext := path.Ext(name)
	base := strings.TrimSuffix(name, ext)
	i := strings.LastIndexByte(base, '.')
	if i < 0 || len(base)-i-1 != 12 {
		return name, ""
	}
	if _, err := hex.DecodeString(base[i+1:]); err != nil {
		return name, ""
	}
	return base[:i] + ext, base[i+1:]
}
