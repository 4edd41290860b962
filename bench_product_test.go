//go:build bench && linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// product is the real binary as a child process.
type product struct {
	t       testing.TB
	cmd     *exec.Cmd
	address string
	token   string
	data    string
	// drained is closed when the child's output ended.
	drained chan struct{}
	ended   bool
}

// startProduct starts the binary on a data directory and returns once it serves.
func startProduct(t testing.TB, data, modelServer string, flags ...string) *product {
	t.Helper()
	p := &product{t: t, data: data, drained: make(chan struct{})}
	p.cmd = exec.Command(binary, append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0", "--no-open", "--log-level", "error",
		"--ollama", modelServer}, flags...)...)
	p.cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR=", "RUNTIME_DIRECTORY=")
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	must(t, p.cmd.Start())
	t.Cleanup(func() {
		if !p.ended {
			p.kill()
		}
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("the appliance did not say where it is: %v", err)
	}
	go func() {
		defer close(p.drained)
		_, _ = io.Copy(io.Discard, lines) // it ends with the child, whatever the reason
	}()
	_, url, found := strings.Cut(strings.TrimSpace(line), " is at http://")
	if !found {
		t.Fatalf("the appliance said %q", line)
	}
	p.address = url
	token, err := os.ReadFile(filepath.Join(data, "cli.token"))
	must(t, err)
	p.token = strings.TrimSpace(string(token))
	return p
}

func (p *product) pid() int { return p.cmd.Process.Pid }

// stop ends the child gracefully.
func (p *product) stop() {
	p.t.Helper()
	must(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	p.ended = true
	<-p.drained
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatalf("the appliance did not stop cleanly: %v", err)
	}
}

// kill ends the child with SIGKILL.
func (p *product) kill() {
	p.t.Helper()
	must(p.t, p.cmd.Process.Kill())
	p.ended = true
	<-p.drained
	if err := p.cmd.Wait(); err == nil {
		p.t.Error("the appliance ended by itself before it was killed")
	}
}

// cpu is the processor time that the child has used.
func (p *product) cpu() time.Duration { return cpuOf(p.t, p.pid()) }

// cpuOf reads a process's own clock, to the nanosecond.
func cpuOf(t testing.TB, pid int) time.Duration {
	t.Helper()
	var now syscall.Timespec
	clock := int32(^pid<<3 | 2)
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		t.Fatalf("the clock of process %d: %v", pid, errno)
	}
	return time.Duration(now.Nano())
}

// memory is what the kernel says of a process, in MB.
type memory struct{ rss, anon, peak float64 }

func (p *product) memory() memory {
	p.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid()))
	must(p.t, err)
	return memory{statusMB(p.t, raw, "VmRSS:"), statusMB(p.t, raw, "RssAnon:"), statusMB(p.t, raw, "VmHWM:")}
}

func statusMB(t testing.TB, status []byte, name string) float64 {
	t.Helper()
	_, rest, found := strings.Cut(string(status), name)
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		t.Fatalf("the kernel says nothing of %s", name)
	}
	kb, err := strconv.ParseFloat(fields[0], 64)
	must(t, err)
	return kb / 1024
}

// line is one kept connection to the appliance. net/http's client would cost the driver more than the appliance spends.
type line struct {
	head string
	conn net.Conn
	r    *bufio.Reader
}

func (p *product) line() (*line, error) {
	conn, err := net.Dial("tcp", p.address)
	if err != nil {
		return nil, err
	}
	head := " HTTP/1.1\r\nHost: " + p.address + "\r\nAuthorization: Bearer " + p.token + "\r\n"
	return &line{head: head, conn: conn, r: bufio.NewReaderSize(conn, 16<<10)}, nil
}

func (w *line) close() { _ = w.conn.Close() }

// open sends a request and gives the answer with its body still to be read.
func (w *line) open(method, path string, body []byte) (*http.Response, error) {
	b := make([]byte, 0, 512+len(body))
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, path...)
	b = append(b, w.head...)
	if body != nil {
		b = append(b, "Content-Type: application/json\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(body)), 10)
		b = append(b, "\r\n"...)
	}
	b = append(append(b, "\r\n"...), body...)
	if _, err := w.conn.Write(b); err != nil {
		return nil, err
	}
	return http.ReadResponse(w.r, nil)
}

// do makes a request and decodes the answer, which must be 2xx, into out unless that is nil.
func (w *line) do(method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	res, err := w.open(method, path, body)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// call is do on a connection of its own; it fails the test.
func (p *product) call(method, path string, in, out any) {
	p.t.Helper()
	w, err := p.line()
	must(p.t, err)
	defer w.close()
	must(p.t, w.do(method, path, in, out))
}

// stream follows a Chat.
type stream struct {
	w *line
	r *bufio.Reader
}

func (p *product) stream(id string) (*stream, error) {
	w, err := p.line()
	if err != nil {
		return nil, err
	}
	res, err := w.open(http.MethodGet, "/api/v1/chats/"+id+"/stream?after_id=0", nil)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the stream of %s: %s", id, res.Status)
	}
	return &stream{w: w, r: bufio.NewReaderSize(res.Body, 4<<10)}, nil
}

// frame gives the JSON of the next frame; it is valid until the next call.
func (s *stream) frame() ([]byte, error) {
	for {
		line, err := s.r.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			long := bytes.Clone(line)
			var rest []byte
			rest, err = s.r.ReadBytes('\n')
			line = append(long, rest...)
		}
		if err != nil {
			return nil, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			return bytes.TrimSuffix(data, []byte("\n")), nil
		}
	}
}

// untilReply reads frames until one brings a committed Message of the model, and gives its text.
func (s *stream) untilReply() (string, error) {
	for {
		data, err := s.frame()
		if err != nil {
			return "", err
		}
		if text, found, err := replyIn(data); found || err != nil {
			return text, err
		}
	}
}

// replyIn gives the text of the committed Message of the model that a frame brings.
func replyIn(data []byte) (text string, found bool, err error) {
	if !bytes.Contains(data, []byte(`"role":"assistant"`)) || !bytes.Contains(data, []byte(`"type":"message"`)) {
		return "", false, nil
	}
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		return "", false, err
	}
	for i := len(f.Events) - 1; i >= 0; i-- {
		if e := &f.Events[i]; e.Type == "message" && e.Message.Role == "assistant" {
			return e.Message.text(), true, nil
		}
	}
	return "", false, nil
}

func (s *stream) close() { s.w.close() }

// frame, event and message are what the driver reads of the stream.
type frame struct {
	Events []event `json:"events"`
}

type event struct {
	Type    string  `json:"type"`
	Status  string  `json:"status"`
	Message message `json:"message"`
	Part    struct {
		Text string `json:"text"`
	} `json:"part"`
}

type message struct {
	ID      int64  `json:"id"`
	Role    string `json:"role"`
	Content []struct {
		Type   string          `json:"type"`
		Text   string          `json:"text"`
		Result json.RawMessage `json:"result"`
	} `json:"content"`
}

func (m *message) text() string {
	var b strings.Builder
	for _, p := range m.Content {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// sent is the body of a new Chat or Message. A title is always given: naming a Chat would be a second call of the model.
func sent(text string) map[string]any {
	return map[string]any{"content": []map[string]string{{"type": "text", "text": text}}}
}

func titled(text string) map[string]any {
	in := sent(text)
	in["title"] = "bench"
	return in
}

// model lets the appliance make its config of the endpoint's model, and widens nothing.
func (p *product) model() {
	p.t.Helper()
	var out struct {
		Models []struct {
			Model string `json:"model"`
		} `json:"models"`
	}
	p.call(http.MethodGet, "/api/v1/models", nil, &out)
	for _, m := range out.Models {
		if m.Model == benchModel {
			// Judging a Turn would be a second call of the model, as naming a Chat would.
			p.call(http.MethodPut, "/api/v1/chats/config/classifier", map[string]any{"enabled": false, "candidates": []string{}}, nil)
			return
		}
	}
	p.t.Fatalf("the appliance has no config of %s: %+v", benchModel, out)
}

// profile gets a profile over the Unix socket and keeps it beside the report, when HOLDFAST_PROFILES names a directory.
func (p *product) profile(ctx context.Context, name, query string) error {
	dir := os.Getenv("HOLDFAST_PROFILES")
	if dir == "" {
		return nil
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(p.data, "holdfast.sock"))
	}}}
	defer client.CloseIdleConnections()
	kind, _, _ := strings.Cut(query, "?")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://holdfast/debug/pprof/"+query, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("profile %s: %s: %w", kind, res.Status, err)
	}
	return os.WriteFile(filepath.Join(dir, name+"."+kind+".pprof"), body, 0o600)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
