package mcp_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	lib "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"holdfast/tools/mcp"
)

// The test binary is also a server on its standard streams.
func TestMain(m *testing.M) {
	switch os.Getenv("HOLDFAST_TEST_STDIO") {
	case "":
		os.Exit(m.Run())
	case "serve":
		_ = server.ServeStdio(library())
	case "flood":
		line := strings.Repeat("x", 1<<20)
		for range 100 {
			_, _ = io.WriteString(os.Stdout, line)
		}
	case "chatter":
		for {
			if _, err := fmt.Println(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`); err != nil {
				return
			}
		}
	case "die":
		return
	case "asks":
		// Fewer requests than are a flood, and no answer to them is read.
		for range 5000 {
			fmt.Println(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`)
		}
		stay()
	case "deaf":
		// It greets, and then reads nothing more.
		for lines := bufio.NewReaderSize(os.Stdin, 16); ; {
			var q struct {
				ID     json.RawMessage
				Method string
			}
			line, err := lines.ReadBytes('\n')
			if err != nil || json.Unmarshal(line, &q) != nil {
				return
			}
			if q.Method == "initialize" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", q.ID, hello)
				stay()
			}
			if q.ID != nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", q.ID)
			}
		}
	case "stay":
		stay()
	}
}

// stay hears of no end of its input, and of no word to end.
func stay() {
	deaf := make(chan os.Signal, 1)
	signal.Notify(deaf, os.Interrupt)
	for {
		<-deaf
	}
}

// library is a server with tools that behave and tools that do not.
func library() *server.MCPServer {
	s := server.NewMCPServer("library", "1.0", server.WithToolCapabilities(true))
	add := func(name string, f server.ToolHandlerFunc) {
		s.AddTool(lib.NewTool(name, lib.WithDescription("The tool "+name+"."), lib.WithString("text", lib.Required())), f)
	}
	add("echo", func(_ context.Context, r lib.CallToolRequest) (*lib.CallToolResult, error) {
		return lib.NewToolResultText("you said " + r.GetString("text", "")), nil
	})
	add("fail", func(context.Context, lib.CallToolRequest) (*lib.CallToolResult, error) {
		return lib.NewToolResultError("the shelf is empty"), nil
	})
	add("hang", func(ctx context.Context, _ lib.CallToolRequest) (*lib.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	// 12 MB are over every limit; 62 take this library long to write.
	add("huge", func(_ context.Context, r lib.CallToolRequest) (*lib.CallToolResult, error) {
		size := 12 << 20
		if r.GetString("text", "") == "more" {
			size = 62 << 20
		}
		return lib.NewToolResultText(strings.Repeat("x", size)), nil
	})
	add("pictures", func(context.Context, lib.CallToolRequest) (*lib.CallToolResult, error) {
		one := base64.StdEncoding.EncodeToString([]byte("picture"))
		out := &lib.CallToolResult{Content: []lib.Content{lib.NewTextContent("ten")}}
		for range 10 {
			out.Content = append(out.Content, lib.NewImageContent(one, "image/png"))
		}
		out.Content = append(out.Content, lib.NewAudioContent(one, "audio/wav"))
		return out, nil
	})
	add("shape", func(context.Context, lib.CallToolRequest) (*lib.CallToolResult, error) {
		return &lib.CallToolResult{Content: []lib.Content{lib.NewTextContent("a text")}, StructuredContent: map[string]any{"n": 1}}, nil
	})
	add("link", func(context.Context, lib.CallToolRequest) (*lib.CallToolResult, error) {
		return &lib.CallToolResult{Content: []lib.Content{lib.NewResourceLink("https://example.com/a", "a page", "", "text/html")}}, nil
	})
	add("panic", func(context.Context, lib.CallToolRequest) (*lib.CallToolResult, error) { panic("the shelf fell") })
	return s
}

// listening gives a Server at handler's address.
func listening(t *testing.T, transport, path string, handler http.Handler) mcp.Server {
	t.Helper()
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	own := &http.Transport{}
	t.Cleanup(own.CloseIdleConnections)
	return mcp.Server{Transport: transport, URL: web.URL + path, HTTP: &http.Client{Transport: own}}
}

func program(t *testing.T, mode string) mcp.Server {
	t.Helper()
	return mcp.Server{Transport: mcp.Stdio, Start: func(context.Context) (*mcp.Process, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "HOLDFAST_TEST_STDIO="+mode)
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		_ = w.Close()
		done := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(done)
		}()
		t.Cleanup(func() { <-done })
		return &mcp.Process{Stdin: in, Stdout: out, Done: done, Terminate: func() { _ = cmd.Process.Signal(os.Interrupt) },
			Kill: func() { _ = cmd.Process.Kill() }}, nil
	}}
}

func dial(t *testing.T, s mcp.Server, l mcp.Limits) *mcp.Conn {
	t.Helper()
	c, err := mcp.Dial(t.Context(), s, l)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func kindOf(t *testing.T, err error) mcp.Kind {
	t.Helper()
	var e *mcp.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *mcp.Error", err)
	}
	return e.Kind
}

// everyTransport runs a test against the same server over each transport.
func everyTransport(t *testing.T, test func(t *testing.T, s mcp.Server)) {
	t.Run(mcp.StreamableHTTP, func(t *testing.T) {
		test(t, listening(t, mcp.StreamableHTTP, "/mcp", server.NewStreamableHTTPServer(library())))
	})
	t.Run(mcp.SSE, func(t *testing.T) { test(t, listening(t, mcp.SSE, "/sse", server.NewSSEServer(library()))) })
	t.Run(mcp.Stdio, func(t *testing.T) { test(t, program(t, "serve")) })
}

func TestListAndCall(t *testing.T) {
	t.Parallel()
	everyTransport(t, func(t *testing.T, s mcp.Server) {
		c := dial(t, s, mcp.Limits{})
		if c.Name() != "library 1.0" {
			t.Errorf("the server is called %q", c.Name())
		}
		list, err := c.Tools(t.Context())
		if err != nil || len(list.Tools) != 8 || len(list.Notes) != 0 {
			t.Fatalf("got %+v, %v", list, err)
		}
		if !strings.Contains(string(list.Tools[0].Schema), `"text"`) {
			t.Errorf("the schema is %s", list.Tools[0].Schema)
		}
		for _, x := range []struct {
			name string
			want mcp.Answer
		}{
			{"echo", mcp.Answer{Text: "you said hi"}},
			{"fail", mcp.Answer{Text: "the shelf is empty", IsError: true}},
			{"shape", mcp.Answer{Text: "a text\n{\"n\":1}"}},
			{"link", mcp.Answer{Text: "a page https://example.com/a"}},
		} {
			got, err := c.Call(t.Context(), x.name, json.RawMessage(`{"text":"hi"}`))
			if err != nil || got.Text != x.want.Text || got.IsError != x.want.IsError {
				t.Errorf("%s: got %+v, %v, want %+v", x.name, got, err, x.want)
			}
		}
		got, err := c.Call(t.Context(), "pictures", json.RawMessage(`{"text":""}`))
		if err != nil || got.Text != "ten" || got.Media == nil || string(got.Media.Data) != "picture" || got.Media.Type != "image/png" || got.Left != 10 {
			t.Errorf("pictures: got %+v, %v", got, err)
		}
		if _, err := c.Call(t.Context(), "nothing", json.RawMessage(`{}`)); kindOf(t, err) != mcp.Refused {
			t.Errorf("an unknown tool: %v", err)
		}
		if _, err := c.Call(t.Context(), "echo", json.RawMessage(`{"text":`)); kindOf(t, err) != mcp.Broken {
			t.Errorf("bad arguments: %v", err)
		}
	})
}

// Cases 37 and 39 of the tools: a call ends at its time, and an answer at its size, and the connection is good for the next call.
func TestCallThatHangsOrFloods(t *testing.T) {
	t.Parallel()
	everyTransport(t, func(t *testing.T, s mcp.Server) {
		hanging := dial(t, s, mcp.Limits{Call: 300 * time.Millisecond})
		if _, err := hanging.Call(t.Context(), "hang", json.RawMessage(`{"text":""}`)); kindOf(t, err) != mcp.TimedOut {
			t.Errorf("a call that hangs: %v", err)
		}
		c := dial(t, s, mcp.Limits{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := c.Call(ctx, "hang", json.RawMessage(`{"text":""}`)); kindOf(t, err) != mcp.Cancelled {
			t.Errorf("a call that nobody waits for: %v", err)
		}
		if got, err := c.Call(t.Context(), "echo", json.RawMessage(`{"text":"still"}`)); err != nil || got.Text != "you said still" {
			t.Errorf("after it: %+v, %v", got, err)
		}
		if _, err := c.Call(t.Context(), "huge", json.RawMessage(`{"text":""}`)); kindOf(t, err) != mcp.TooLarge {
			t.Errorf("12 MB: %v", err)
		}
	})
}

// TestAHugeAnswerIsNotHeld runs beside no other test: the heap that it measures is that of all. Over stdio the server's 62 MB stand elsewhere.
func TestAHugeAnswerIsNotHeld(t *testing.T) {
	c := dial(t, program(t, "serve"), mcp.Limits{})
	before := heap()
	if _, err := c.Call(t.Context(), "huge", json.RawMessage(`{"text":"more"}`)); kindOf(t, err) != mcp.TooLarge {
		t.Errorf("62 MB: %v", err)
	}
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("62 MB: our heap grew by %d MiB", grown>>20)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestProgramsThatMisbehave(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]mcp.Kind{"flood": mcp.TooLarge, "chatter": mcp.TooLarge, "die": mcp.Closed, "stay": mcp.TimedOut, "asks": mcp.TimedOut} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if want == mcp.TimedOut {
				short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
				ctx = short
			}
			_, err := mcp.Dial(ctx, program(t, mode), mcp.Limits{Terminate: 20 * time.Millisecond, Kill: 20 * time.Millisecond})
			if got := kindOf(t, err); got != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// A program that reads nothing more costs a call its time, not for ever, and what no pipe holds is bounded.
func TestAProgramThatReadsNothing(t *testing.T) {
	t.Parallel()
	quick := mcp.Limits{Call: 200 * time.Millisecond, Terminate: 20 * time.Millisecond, Kill: 20 * time.Millisecond}
	c := dial(t, program(t, "deaf"), quick)
	args := json.RawMessage(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	kinds := []mcp.Kind{}
	for range 4 {
		_, err := c.Call(t.Context(), "echo", args)
		kinds = append(kinds, kindOf(t, err))
		if kinds[len(kinds)-1] == mcp.Broken && !strings.Contains(err.Error(), "does not read") {
			t.Errorf("one too many: %v", err)
		}
	}
	if kinds[0] != mcp.TimedOut || kinds[3] != mcp.Broken {
		t.Errorf("calls end as %v", kinds)
	}
	ctx, cancel := context.WithCancel(t.Context())
	slow := dial(t, program(t, "deaf"), mcp.Limits{Terminate: quick.Terminate, Kill: quick.Kill})
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := slow.Call(ctx, "echo", args); kindOf(t, err) != mcp.Cancelled {
		t.Errorf("a call that nobody waits for: %v", err)
	}
}

// A server that another one stands behind must not get the credentials.
func TestCredentialsStayWithTheirServer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var stolen []string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		stolen = append(stolen, r.Header.Get("X-Key")+r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(thief.Close)
	key := ""
	s := listening(t, mcp.StreamableHTTP, "/mcp", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		key = r.Header.Get("X-Key")
		mu.Unlock()
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	}))
	s.Headers = func(context.Context) (http.Header, error) {
		return http.Header{"x-key": {"sesame-1234"}, "authorization": {"Bearer sesame-1234"}}, nil
	}
	_, err := mcp.Dial(t.Context(), s, mcp.Limits{})
	if kindOf(t, err) != mcp.Unreachable {
		t.Errorf("got %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if key != "sesame-1234" || len(stolen) == 0 || strings.Join(stolen, "") != "" {
		t.Errorf("the server got %q, the other one %q", key, stolen)
	}
}

// answering is a server that answers each method with a fixed result.
func answering(results map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		result, ok := results[q.Method]
		if !ok {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no sesame-1234 here\u202e"}}`, q.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, result)
	})
}

const hello = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`

func TestBadDefinitionsCostThemselves(t *testing.T) {
	t.Parallel()
	tools := `{"tools":[{"name":"good","description":"d","inputSchema":{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},"x":1}},
		{"name":"bad","inputSchema":{"type":"array"}},{"name":"worse","inputSchema":7},{"name":7},null,{"name":"none"},
		{"name":"deep","inputSchema":{"type":"object","properties":{"a":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40) + `}}},
		{"name":"good","inputSchema":{"type":"object"}},{"name":"bidi\u202e","inputSchema":{"type":"object"}},
		{"name":"large","description":"` + strings.Repeat("x", 70<<10) + `","inputSchema":{"type":"object"}}]}`
	c := dial(t, listening(t, mcp.StreamableHTTP, "", answering(map[string]string{"initialize": hello, "tools/list": tools})), mcp.Limits{})
	list, err := c.Tools(t.Context())
	if err != nil || len(list.Tools) != 1 || len(list.Notes) != 9 {
		t.Fatalf("got %+v, %v", list, err)
	}
	if !strings.Contains(string(list.Tools[0].Schema), `"oneOf"`) || !strings.Contains(string(list.Tools[0].Schema), `"x":1`) {
		t.Errorf("the schema lost parts: %s", list.Tools[0].Schema)
	}
}

func TestListsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{
		"same page":  `{"tools":[],"nextCursor":"again"}`,
		"many tools": `{"tools":[` + strings.Repeat(`{"name":"t","inputSchema":{"type":"object"}},`, 600) + `null]}`,
	} {
		c := dial(t, listening(t, mcp.StreamableHTTP, "", answering(map[string]string{"initialize": hello, "tools/list": list})), mcp.Limits{Tools: 2})
		if _, err := c.Tools(t.Context()); name == "same page" && kindOf(t, err) != mcp.TooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := dial(t, listening(t, mcp.StreamableHTTP, "", answering(map[string]string{"initialize": hello, "tools/list": `"no"`})), mcp.Limits{})
	if _, err := c.Tools(t.Context()); err == nil {
		t.Error("a list that is none was taken")
	}
}

func TestWhatAServerSaysIsCleaned(t *testing.T) {
	t.Parallel()
	s := listening(t, mcp.StreamableHTTP, "", answering(map[string]string{"initialize": hello, "tools/call": `{"content":[{"type":"text","text":"key sesame-1234"}]}`}))
	s.Secrets = func() []string { return []string{"sesame-1234"} }
	c := dial(t, s, mcp.Limits{})
	got, err := c.Call(t.Context(), "x", json.RawMessage(`{}`))
	if err != nil || got.Text != "key ***" {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = c.Tools(t.Context())
	if err == nil || strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "\u202e") {
		t.Errorf("got %v", err)
	}
	if _, err := mcp.Dial(t.Context(), listening(t, mcp.StreamableHTTP, "", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	})), mcp.Limits{}); kindOf(t, err) != mcp.Denied {
		t.Errorf("got %v", err)
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	held := library()
	c := dial(t, listening(t, mcp.SSE, "/sse", server.NewSSEServer(held)), mcp.Limits{})
	if c.Announced() != 0 {
		t.Error("changed before anything did")
	}
	held.DeleteTools("fail")
	for c.Announced() == 0 {
		if _, err := c.Call(t.Context(), "echo", json.RawMessage(`{"text":"x"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := c.Tools(t.Context()); err != nil || len(list.Tools) != 7 {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestCloseEndsAProgramThatStays(t *testing.T) {
	t.Parallel()
	s := program(t, "serve")
	c := dial(t, s, mcp.Limits{})
	done := make(chan error, 1)
	go func() {
		_, err := c.Call(context.WithoutCancel(t.Context()), "hang", json.RawMessage(`{"text":""}`))
		done <- err
	}()
	_ = c.Close()
	if err := <-done; kindOf(t, err) != mcp.Closed {
		t.Errorf("the call that ran: %v", err)
	}
}

// running counts the requests that have no answer yet.
type running struct {
	n    atomic.Int64
	next http.RoundTripper
}

// RoundTrip makes one.
func (r *running) RoundTrip(q *http.Request) (*http.Response, error) {
	r.n.Add(1)
	defer r.n.Add(-1)
	return r.next.RoundTrip(q)
}

// A server that hangs while it is told good-bye is left, and nothing of the connection runs on.
func TestCloseLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	answers := answering(map[string]string{"initialize": hello, "tools/call": `{"content":[]}`})
	left := make(chan struct{})
	s := listening(t, mcp.StreamableHTTP, "/mcp", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete {
			// Only who has a session says good-bye.
			w.Header().Set("Mcp-Session-Id", "one")
			answers.ServeHTTP(w, r)
			return
		}
		<-r.Context().Done()
		close(left)
	}))
	trips := &running{next: s.HTTP.Transport}
	s.HTTP = &http.Client{Transport: trips}
	c := dial(t, s, mcp.Limits{Close: time.Millisecond})
	if _, err := c.Call(t.Context(), "echo", json.RawMessage(`{"text":"hi"}`)); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if n := trips.n.Load(); n != 0 {
		t.Errorf("%d requests run on", n)
	}
	<-left
}

func FuzzClean(f *testing.F) {
	f.Add("a\u202eb\x00\U000E0041\u200b\xff\n")
	f.Fuzz(func(t *testing.T, text string) {
		clean, n := mcp.Clean(text)
		if again, more := mcp.Clean(clean); again != clean || more != 0 {
			t.Errorf("%q is cleaned to %q, and that to %q", text, clean, again)
		}
		if n == 0 && clean != text {
			t.Errorf("%q changed without a count", text)
		}
	})
}
