//go:build unix

package gguf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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
	"time"
)

// BinaryEnv names the environment variable with the path of the server's binary.
const BinaryEnv = "HOLDFAST_OLLAMA_BIN"

const (
	startLimit = 30 * time.Second
	stopLimit  = 5 * time.Second
	tries      = 3
)

// Server is a model server of its own: its home, its models and its port belong to nobody else.
type Server struct {
	// URL is its base address; Log, the file with what it prints.
	URL string
	Log string

	client *http.Client
	cmd    *exec.Cmd
	ended  chan struct{}
}

// Start runs "binary serve" with its home below dir and waits until it answers. env are further variables "NAME=value".
func Start(ctx context.Context, binary, dir string, env ...string) (*Server, error) {
	if binary == "" {
		return nil, errors.New("no model server: " + BinaryEnv + " must name its binary")
	}
	var last error
	for range tries {
		// Another process may take the port between this and the start.
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s, err := start(ctx, binary, dir, port, env)
		if err == nil {
			return s, nil
		}
		last = err
	}
	return nil, last
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), l.Close()
}

func start(ctx context.Context, binary, dir, port string, env []string) (*Server, error) {
	s := &Server{URL: "http://127.0.0.1:" + port, Log: filepath.Join(dir, "server.log"), ended: make(chan struct{}),
		client: &http.Client{Transport: &http.Transport{}}}
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd = exec.Command(binary, "serve")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "OLLAMA_MODELS=" + filepath.Join(dir, "models"),
		"OLLAMA_HOST=127.0.0.1:" + port, "OLLAMA_NO_CLOUD=1", "OLLAMA_KEEP_ALIVE=-1"}, env...)
	// Runners are its children; the group lets Close end them all.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		// How it ended is in the log; that it ended is in the channel.
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	if err := s.await(ctx); err != nil {
		text, _ := os.ReadFile(s.Log)
		return nil, errors.Join(fmt.Errorf("the model server did not start: %w\n%s", err, text), s.Close())
	}
	return s, nil
}

func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := s.ask(ctx, http.MethodGet, "/api/version", nil); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.ended:
			return errors.New("it has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close ends the server and its runners.
func (s *Server) Close() error {
	group := -s.cmd.Process.Pid
	defer s.client.CloseIdleConnections()
	if err := syscall.Kill(group, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	slow := time.NewTimer(stopLimit)
	defer slow.Stop()
	select {
	case <-s.ended:
	case <-slow.C:
	}
	// Runners do not always go with their parent.
	if err := syscall.Kill(group, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	<-s.ended
	return nil
}

// Install puts a GGUF with a template into the server under a name.
func (s *Server) Install(ctx context.Context, name string, file []byte, template string) error {
	sum := sha256.Sum256(file)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if _, err := s.ask(ctx, http.MethodPost, "/api/blobs/"+digest, file); err != nil {
		return err
	}
	// Threads that wait for each other are the slowest thing about so small a network, above all on a busy machine.
	body, err := json.Marshal(map[string]any{"model": name, "files": map[string]string{"scripted.gguf": digest}, "template": template,
		"parameters": map[string]any{"num_thread": 1}, "stream": false})
	if err != nil {
		return err
	}
	answer, err := s.ask(ctx, http.MethodPost, "/api/create", body)
	if err == nil && !bytes.Contains(answer, []byte(`"success"`)) {
		err = fmt.Errorf("create %s: %s", name, answer)
	}
	return err
}

func (s *Server) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: status %d: %s", method, path, resp.StatusCode, answer)
	}
	return answer, err
}

// KillRunner kills the processes that hold models, as a lack of memory would, and says how many there were.
func (s *Server) KillRunner() (int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	killed := 0
	for _, file := range stats {
		raw, err := os.ReadFile(file)
		if err != nil {
			// It has ended meanwhile.
			continue
		}
		// The name in brackets may hold spaces; state and parent stand behind it.
		fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(s.cmd.Process.Pid) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return killed, err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return killed, err
		}
		killed++
	}
	return killed, nil
}
