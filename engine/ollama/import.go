package ollama

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"holdfast/engine/chat"
)

// Stages of an import as Progress.Status names them; the server's own words follow.
const (
	StatusReading   = "reading"
	StatusUploading = "uploading"
)

const progressEvery = 250 * time.Millisecond

var ggufMagic = []byte("GGUF")

// Import uploads a GGUF and creates the model name from it. The server asks for the content's hash first, so the bytes are
// read twice: an r that can seek is rewound, any other is kept in a temporary file meanwhile. An r that is not a GGUF, or
// not of that size, is a KindInvalid Error, and nothing is uploaded.
func (a *Adapter) Import(ctx context.Context, name string, r io.Reader, size int64, progress func(chat.Progress)) error {
	defer a.shown.forget(name)
	digest, again, err := a.digest(ctx, r, size, progress)
	if err != nil {
		return err
	}
	defer again.Close()
	if err := a.sendOnce(ctx, digest, again, size, progress); err != nil {
		return a.manageError(err, name)
	}
	done := false
	in := map[string]any{"model": name, "files": map[string]string{"model.gguf": digest}, "stream": true}
	err = a.follow(ctx, "/api/create", in, func(raw []byte) error {
		var l struct {
			Status string `json:"status"`
		}
		if err := json.Unmarshal(raw, &l); err != nil {
			return err
		}
		done = done || l.Status == "success"
		progress(chat.Progress{Status: l.Status, Completed: size, Total: size})
		return nil
	})
	if err == nil && !done {
		err = &chat.Fault{Text: "the import ended without success", Address: a.address, Err: io.ErrUnexpectedEOF}
	}
	return a.manageError(err, name)
}

// digest reads r whole and gives its hash and a reader of the same bytes.
func (a *Adapter) digest(ctx context.Context, r io.Reader, size int64, progress func(chat.Progress)) (string, io.ReadCloser, error) {
	if size < int64(len(ggufMagic)) {
		return "", nil, chat.Invalid("file", "The file is empty.")
	}
	var begin int64
	seeker, _ := r.(io.ReadSeeker)
	if seeker != nil {
		at, err := seeker.Seek(0, io.SeekCurrent)
		if err != nil {
			// A pipe has the method too.
			seeker = nil
		}
		begin = at
	}
	hash := sha256.New()
	var out io.Writer = hash
	var kept *os.File
	if seeker == nil {
		var err error
		if kept, err = os.CreateTemp(a.tempDir, "import-*.gguf"); err != nil {
			return "", nil, err
		}
		// The name goes at once; the open file stays until it is closed, whatever happens.
		if err := os.Remove(kept.Name()); err != nil {
			return "", nil, errors.Join(err, kept.Close())
		}
		out = io.MultiWriter(hash, kept)
	}
	err := copyGGUF(ctx, out, r, size, progress)
	if err == nil && kept != nil {
		_, err = kept.Seek(0, io.SeekStart)
	}
	if err != nil && kept != nil {
		kept.Close()
	}
	if errors.Is(err, syscall.ENOSPC) {
		return "", nil, &chat.Error{Kind: chat.KindNoSpace, Message: "There is no room for the file on this machine.", Cause: err}
	}
	if err != nil {
		return "", nil, err
	}
	digest := "sha256:" + hex.EncodeToString(hash.Sum(nil))
	if kept != nil {
		return digest, kept, nil
	}
	if _, err := seeker.Seek(begin, io.SeekStart); err != nil {
		return "", nil, err
	}
	return digest, io.NopCloser(seeker), nil
}

// copyGGUF copies size bytes and refuses what is not a GGUF, or is shorter or longer.
func copyGGUF(ctx context.Context, w io.Writer, r io.Reader, size int64, progress func(chat.Progress)) error {
	buf := make([]byte, 1<<20)
	n, err := io.ReadFull(r, buf[:len(ggufMagic)])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	if !bytes.Equal(buf[:n], ggufMagic) {
		return chat.Invalid("file", "The file is not a GGUF: it does not begin with that mark.")
	}
	if _, err := w.Write(buf[:n]); err != nil {
		return err
	}
	done, last := int64(n), time.Now()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := r.Read(buf)
		done += int64(n)
		if done > size {
			return chat.Invalid("file", fmt.Sprintf("The file is longer than the %d bytes that were announced.", size))
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if time.Since(last) >= progressEvery {
			last = time.Now()
			progress(chat.Progress{Status: StatusReading, Completed: done, Total: size})
		}
	}
	if done < size {
		return chat.Invalid("file", fmt.Sprintf("The file ended after %d of %d bytes.", done, size))
	}
	progress(chat.Progress{Status: StatusReading, Completed: size, Total: size})
	return nil
}

// sendOnce uploads the bytes unless the server has them.
func (a *Adapter) sendOnce(ctx context.Context, digest string, r io.Reader, size int64, progress func(chat.Progress)) error {
	path := "/api/blobs/" + digest
	err := a.fetch(ctx, http.MethodHead, path, nil, nil)
	if err == nil {
		return nil
	}
	if !gone(err) {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var sent atomic.Int64
	body := &upload{Reader: io.TeeReader(io.LimitReader(r, size), counter{&sent}), closed: make(chan struct{})}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, body)
	if err != nil {
		return err
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/octet-stream")
	ended := make(chan error, 1)
	go func() {
		err := a.sendBlob(ctx, req)
		// The transport may read on for a moment after an early answer; the reader is the caller's again only after that.
		<-body.closed
		ended <- err
	}()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	t := newTally()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			t.layer(digest, sent.Load(), size)
			progress(t.progress(StatusUploading))
		}
	}
}

func (a *Adapter) sendBlob(ctx context.Context, req *http.Request) error {
	resp, err := a.client.Do(req)
	if err != nil {
		return a.lost(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return a.refused(resp)
	}
	return nil
}

// upload is a request body that tells when the transport has let go of it.
type upload struct {
	io.Reader
	once   sync.Once
	closed chan struct{}
}

func (u *upload) Close() error {
	u.once.Do(func() { close(u.closed) })
	return nil
}

// counter counts what passes, for a reader on another goroutine.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}
