//go:build bench && linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine/ollama/scripted"
)

const benchModel = "bench:latest"

// endpoint is a model server at full speed: one write per token, no net/http in the way. All but the chat is answered by scripted.
type endpoint struct {
	url      string
	listener net.Listener
	rest     *scripted.Server
	shape    atomic.Pointer[shape]

	wg sync.WaitGroup
	mu sync.Mutex // guards conns
	// conns are the open ones, nil once closed.
	conns map[net.Conn]struct{}
}

// shape is how it answers.
type shape struct {
	tokens int
	// every is the time between tokens, 0 is none.
	every time.Duration
	// stamped puts the time of its writing, in nanoseconds, into each token.
	stamped bool
	// scripted leaves the answer to rest.
	scripted bool
	// chunks is the whole answer of one that is neither stamped nor paced, a write per token.
	chunks [][]byte
}

const (
	answerHead = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
	answerEnd  = "0\r\n\r\n"
)

func newEndpoint(t testing.TB) *endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	e := &endpoint{url: "http://" + l.Addr().String(), listener: l, conns: map[net.Conn]struct{}{},
		rest: scripted.New(scripted.Options{Models: []scripted.Model{{Name: benchModel}}})}
	e.answer(200)
	e.wg.Go(e.accept)
	t.Cleanup(e.close)
	return e
}

// answer sets the length of the replies.
func (e *endpoint) answer(tokens int) {
	s := &shape{tokens: tokens}
	for i := range tokens {
		s.chunks = append(s.chunks, chunk(wordOf(i)))
	}
	e.shape.Store(s)
}

// textOf is the reply of so many tokens.
func textOf(tokens int) string {
	var b strings.Builder
	for i := range tokens {
		b.WriteString(wordOf(i))
	}
	return b.String()
}

func wordOf(i int) string { return "word" + strconv.Itoa(i%10) + " " }

func chunk(token string) []byte {
	return chunked(`{"model":"` + benchModel + `","created_at":"2026-01-01T00:00:00.000000001Z","message":{"role":"assistant","content":"` +
		token + `"},"done":false}` + "\n")
}

func lastChunk(prompt, tokens int) []byte {
	return chunked(fmt.Sprintf(`{"model":"`+benchModel+`","created_at":"2026-01-01T00:00:00.000000001Z","message":{"role":"assistant","content":""},`+
		`"done":true,"done_reason":"stop","total_duration":2000000,"load_duration":1,"prompt_eval_count":%d,"prompt_eval_duration":1000000,`+
		`"eval_count":%d,"eval_duration":1000000}`+"\n", prompt, tokens))
}

func chunked(line string) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(line), line) }

func (e *endpoint) accept() {
	for {
		conn, err := e.listener.Accept()
		if err != nil {
			return
		}
		e.mu.Lock()
		if e.conns == nil {
			e.mu.Unlock()
			_ = conn.Close()
			return
		}
		e.conns[conn] = struct{}{}
		e.mu.Unlock()
		e.wg.Go(func() {
			e.serve(conn)
			_ = conn.Close()
			e.mu.Lock()
			delete(e.conns, conn)
			e.mu.Unlock()
		})
	}
}

func (e *endpoint) close() {
	_ = e.listener.Close()
	e.mu.Lock()
	for c := range e.conns {
		_ = c.Close()
	}
	e.conns = nil
	e.mu.Unlock()
	e.wg.Wait()
}

// serve answers the requests of a connection. What breaks off ends it: the client sees that by itself.
func (e *endpoint) serve(conn net.Conn) {
	r := bufio.NewReaderSize(conn, 16<<10)
	for {
		path, head, err := requestHead(r)
		if err != nil {
			return
		}
		if path != "/api/chat" || e.shape.Load().scripted {
			req, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(head), r)))
			if err != nil || e.other(conn, req) != nil {
				return
			}
			continue
		}
		n, err := contentLength(head)
		if err != nil {
			return
		}
		if _, err := r.Discard(n); err != nil {
			return
		}
		if e.chat(conn, n) != nil {
			return
		}
	}
}

// requestHead reads up to the empty line and gives the path.
func requestHead(r *bufio.Reader) (path string, head []byte, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return "", nil, err
		}
		head = append(head, line...)
		if len(line) <= 2 {
			_, rest, _ := bytes.Cut(head, []byte(" "))
			name, _, _ := bytes.Cut(rest, []byte(" "))
			return string(name), head, nil
		}
	}
}

func contentLength(head []byte) (int, error) {
	_, rest, found := bytes.Cut(head, []byte("\r\nContent-Length: "))
	if !found {
		return 0, errors.New("a chat request without Content-Length")
	}
	number, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return strconv.Atoi(string(number))
}

// chat answers a prompt of so many bytes. The count of its tokens must be plausible: an appliance that watches for cut prompts does so by it.
func (e *endpoint) chat(conn net.Conn, bytes int) error {
	s := e.shape.Load()
	var ticks <-chan time.Time
	if s.every > 0 {
		ticker := time.NewTicker(s.every)
		defer ticker.Stop()
		ticks = ticker.C
	}
	// The head leaves with the first token, as a server's does that flushes after each.
	b := append(make([]byte, 0, 1024), answerHead...)
	for i := range s.tokens {
		if ticks != nil {
			<-ticks
		}
		if s.stamped {
			b = append(b, chunk("@"+strconv.FormatInt(time.Now().UnixNano(), 10)+" ")...)
		} else {
			b = append(b, s.chunks[i]...)
		}
		if _, err := conn.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	_, err := conn.Write(append(append(b, lastChunk(bytes/4, s.tokens)...), answerEnd...))
	return err
}

func (e *endpoint) other(conn net.Conn, req *http.Request) error {
	answer := httptest.NewRecorder()
	e.rest.ServeHTTP(answer, req)
	res := answer.Result()
	res.ContentLength = int64(answer.Body.Len())
	return res.Write(conn)
}

// raw makes one call of the model without the appliance, as a client that only reads.
type raw struct {
	conn net.Conn
	r    *bufio.Reader
	req  []byte
}

func (e *endpoint) raw(t testing.TB, body int) *raw {
	t.Helper()
	conn, err := net.Dial("tcp", e.listener.Addr().String())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	req := fmt.Appendf(nil, "POST /api/chat HTTP/1.1\r\nHost: bench\r\nContent-Length: %d\r\n\r\n", body)
	return &raw{conn: conn, r: bufio.NewReaderSize(conn, 16<<10), req: append(req, bytes.Repeat([]byte(" "), body)...)}
}

func (r *raw) call() error {
	if _, err := r.conn.Write(r.req); err != nil {
		return err
	}
	res, err := http.ReadResponse(r.r, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
