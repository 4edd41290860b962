package call

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// row is a failure and what the error table makes of it.
type row struct {
	err    error
	kind   chat.Kind
	retry  bool
	status int
}

func (c row) check(t *testing.T) {
	t.Helper()
	e := Classify(c.err, "m:1b")
	if e.Kind != c.kind || e.Retryable != c.retry || e.StatusCode != c.status || e.Model != "m:1b" || e.Message == "" {
		t.Errorf("%v\n  is %s retryable %v status %d, want %s %v %d", c.err, e.Kind, e.Retryable, e.StatusCode, c.kind, c.retry, c.status)
	}
}

func TestClassify(t *testing.T) {
	with := func(f *chat.Fault, err error) *chat.Fault { f.Err = err; return f }
	loading := func(f *chat.Fault) *chat.Fault { f.Loading = true; return f }
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, c := range []row{
		{fault(400, "the input length exceeds the context length"), chat.KindContextFull, false, 400},
		{fault(400, "the prompt is longer than the context length currently available"), chat.KindContextFull, false, 400},
		{fault(500, "request (9000 tokens) exceeds the available context size"), chat.KindContextFull, false, 500},
		{fault(200, "context window exceeded"), chat.KindContextFull, false, 0},
		{fault(400, "registry.ollama.ai/library/x:latest does not support tools"), chat.KindNoTools, false, 400},
		{fault(400, `"x" does not support thinking`), chat.KindConfig, false, 400},

		{fault(404, "model 'x' not found"), chat.KindModelMissing, false, 404},
		{fault(404, ""), chat.KindModelMissing, false, 404},
		{fault(503, `model "x" not found, try pulling it first`), chat.KindModelMissing, false, 503},
		{fault(500, "upstream said: status 404"), chat.KindModelMissing, false, 404},

		{fault(500, "model requires more system memory (9 GiB) than is available"), chat.KindOutOfMemory, true, 500},
		{fault(500, "llama runner process has terminated: cudaMalloc failed: out of memory; try a smaller context size"), chat.KindOutOfMemory, true, 500},
		{fault(200, "ggml: unable to allocate CUDA0 buffer"), chat.KindOutOfMemory, true, 0},
		{fault(500, "mmap: cannot allocate memory"), chat.KindOutOfMemory, true, 500},

		{fault(503, "llm server loading model"), chat.KindModelLoading, true, 503},
		{loading(fault(503, "")), chat.KindModelLoading, true, 503},
		{fault(500, "error loading model: unknown architecture"), chat.KindServer, true, 500},
		{loading(fault(500, "llama runner process has terminated: exit status 2")), chat.KindServer, true, 500},

		{fault(503, "server busy, please try again.  maximum pending requests exceeded"), chat.KindBusy, true, 503},
		{fault(429, "you have reached your hourly limit"), chat.KindBusy, true, 429},
		{fault(0, "busy"), chat.KindBusy, true, 0},
		{fault(503, "Service Unavailable"), chat.KindServer, true, 503},

		{with(fault(0, "no answer"), dial(syscall.ECONNREFUSED)), chat.KindUnreachable, true, 0},
		{with(fault(0, "no answer"), dial(syscall.EHOSTUNREACH)), chat.KindUnreachable, true, 0},
		{with(fault(0, "no answer"), dial(os.ErrDeadlineExceeded)), chat.KindUnreachable, true, 0},
		{with(fault(0, "no answer"), dial(&net.DNSError{Err: "no such host", Name: "nowhere", IsNotFound: true})), chat.KindUnreachable, false, 0},
		{with(fault(0, "no answer"), dial(&net.DNSError{Err: "server misbehaving", IsTemporary: true})), chat.KindUnreachable, true, 0},
		{with(fault(0, "no answer"), x509.UnknownAuthorityError{}), chat.KindUnreachable, false, 0},
		{with(fault(0, "no answer"), errors.New("http: server gave HTTP response to HTTPS client")), chat.KindUnreachable, false, 0},

		{&guardFired{chat.KindSlowStart}, chat.KindSlowStart, true, 0},
		{&guardFired{chat.KindSilent}, chat.KindSilent, true, 0},

		{with(fault(0, "the stream broke off"), io.ErrUnexpectedEOF), chat.KindStreamCut, true, 0},
		{with(fault(0, "no answer"), syscall.ECONNRESET), chat.KindStreamCut, true, 0},
		{with(fault(0, "no answer"), syscall.EPIPE), chat.KindStreamCut, true, 0},
		{with(fault(0, "no answer"), context.DeadlineExceeded), chat.KindStreamCut, true, 0},
		{fault(200, "an error was encountered while running the model: unexpected EOF"), chat.KindStreamCut, true, 0},
		{fault(408, ""), chat.KindStreamCut, true, 408},
		{fault(502, "bad gateway"), chat.KindStreamCut, true, 502},
		{fault(504, ""), chat.KindStreamCut, true, 504},
		{fault(200, "prediction aborted, token repeat limit reached"), chat.KindLoop, false, 0},

		{fault(401, "unauthorized"), chat.KindAuth, false, 401},
		{fault(403, ""), chat.KindAuth, false, 403},
		{fault(400, "invalid option provided: num_cxt"), chat.KindConfig, false, 400},
		{fault(500, `option "num_ctx" must be of type integer`), chat.KindConfig, false, 500},
		{fault(500, "invalid model name"), chat.KindConfig, false, 500},
		{fault(500, "http 422 from the gateway"), chat.KindConfig, false, 422},
		{fault(418, ""), chat.KindConfig, false, 418},

		{fault(500, "boom"), chat.KindServer, true, 500},
		{fault(200, "llama runner process has terminated: exit status 2"), chat.KindServer, true, 0},
		{fault(200, "error parsing tool call: raw='{'"), chat.KindServer, true, 0},
		{errors.New("something else"), chat.KindGeneric, false, 0},
		{fmt.Errorf("wrapped: %w", fault(429, "")), chat.KindBusy, true, 429},
	} {
		c.check(t)
	}
}

func TestNumbersThatAreNoStatus(t *testing.T) {
	for _, c := range []row{
		{fault(0, "read tcp 127.0.0.1:404->127.0.0.1:503: strange"), chat.KindGeneric, false, 0},
		{fault(0, "stream id 429 closed at http://gpu:404/api/503"), chat.KindGeneric, false, 0},
		{fault(0, "open /srv/status 404/x/500: strange"), chat.KindGeneric, false, 0},
		{fault(0, "HTTP/1.1 503 Service Unavailable"), chat.KindServer, true, 503},
		{fault(0, "status code: 401"), chat.KindAuth, false, 401},
	} {
		c.check(t)
	}
}

func TestSentences(t *testing.T) {
	for kind, want := range map[chat.Kind]string{
		chat.KindContextFull:  "The conversation no longer fits the model's window.",
		chat.KindNoTools:      "m cannot call tools. Choose another model or switch tools off.",
		chat.KindModelMissing: "m is not on the model server. Pull or import it.",
		chat.KindOutOfMemory:  "m does not fit into memory with this window. Choose a smaller model or window.",
		chat.KindModelLoading: "m did not finish loading.",
		chat.KindBusy:         "The model server is busy.",
		chat.KindUnreachable:  "The model server at http://gpu:11434 does not answer.",
		chat.KindSlowStart:    "The model did not start to answer in time.",
		chat.KindSilent:       "The model stopped answering in the middle.",
		chat.KindStreamCut:    "The connection to the model broke off.",
		chat.KindAuth:         "The model server refused access.",
		chat.KindConfig:       "The model server refused the request.",
		chat.KindServer:       "The model server failed.",
		chat.KindLoop:         "The model repeated itself.",
		chat.KindGeneric:      "The turn failed.",
	} {
		if got := sentence(kind, "m", "http://gpu:11434"); got != want {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

func TestDetailIsCutAndAnErrorStays(t *testing.T) {
	e := Classify(fault(500, strings.Repeat("é", 600)+"\xff"), "m")
	if n := utf8.RuneCountInString(e.Detail); n != 500 || !utf8.ValidString(e.Detail) {
		t.Errorf("%d runes", n)
	}
	if again := Classify(fmt.Errorf("x: %w", e), "other"); again != e {
		t.Errorf("%+v", again)
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(503, "http 404 model not found", true)
	f.Fuzz(func(t *testing.T, status int, text string, loading bool) {
		e := Classify(&chat.Fault{Status: status, Text: text, Loading: loading}, "m")
		if e.Kind == "" || e.Message == "" || utf8.RuneCountInString(e.Detail) > 500 || !utf8.ValidString(e.Detail) {
			t.Fatalf("%+v", e)
		}
	})
}
