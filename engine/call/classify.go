package call

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"holdfast/engine/chat"
)

const maxDetail = 500

// sign is what a failure shows: the HTTP status (one that the text names, if it says more), the text in lower case, the chain.
type sign struct {
	status  int
	text    string
	loading bool
	err     error
}

// rules are the rows of engine.md 10 from context_full on, in their order; the first match wins.
var rules = []struct {
	kind  chat.Kind
	retry bool
	match func(sign) bool
}{
	{chat.KindContextFull, false, contextFull},
	{chat.KindNoTools, false, noTools},
	{chat.KindModelMissing, false, modelMissing},
	{chat.KindOutOfMemory, true, outOfMemory},
	{chat.KindModelLoading, true, modelLoading},
	{chat.KindBusy, true, busy},
	{chat.KindUnreachable, false, hopeless},
	{chat.KindUnreachable, true, unreachable},
	{chat.KindLoop, false, repeatsItself},
	{chat.KindStreamCut, true, streamCut},
	{chat.KindAuth, false, func(s sign) bool { return s.status == 401 || s.status == 403 }},
	{chat.KindConfig, false, refused},
	{chat.KindServer, true, serverFailed},
}

// Classify turns the failure of a call of model into the error that a person sees. A *chat.Error stays as it is.
func Classify(err error, model string) *chat.Error {
	var already *chat.Error
	if errors.As(err, &already) {
		return already
	}
	e := &chat.Error{Kind: chat.KindGeneric, Model: model, Cause: err}
	var fired *guardFired
	s, f := readSign(err)
	if errors.As(err, &fired) {
		e.Kind, e.Retryable = fired.kind, true
	} else {
		for _, r := range rules {
			if r.match(s) {
				e.Kind, e.Retryable = r.kind, r.retry
				break
			}
		}
		e.Detail = detail(err, f)
	}
	if s.status >= 400 {
		e.StatusCode = s.status
	}
	e.Message = sentence(e.Kind, model, f.Address)
	return e
}

func readSign(err error) (sign, chat.Fault) {
	var f *chat.Fault
	if !errors.As(err, &f) {
		return sign{text: strings.ToLower(err.Error()), err: err}, chat.Fault{}
	}
	text := f.Text
	if f.Err != nil {
		text += ": " + f.Err.Error()
	}
	s := sign{status: f.Status, text: strings.ToLower(text), loading: f.Loading, err: err}
	if inner := statusIn(s.text); inner != 0 && (s.status < 400 || s.status >= 500) {
		s.status = inner
	}
	return s, *f
}

var (
	// address matches what holds numbers that are no status: URLs, host:port, paths.
	address = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[a-z][a-z0-9+.-]*://\S+|\[[0-9a-f:]+\]:\d+|(?:localhost|[\w-]+(?:\.[\w-]+)+):\d+|(?:^|\s)/\S+`)
	})
	named = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^(?:error )?|\b(?:status(?: code)?|http(?:/\d(?:\.\d)?)?|code|error:)[ :=]*)([45]\d\d)\b`)
	})
)

// statusIn finds an HTTP status that a text names as one.
func statusIn(text string) int {
	m := named().FindStringSubmatch(address().ReplaceAllString(text, " "))
	if m == nil {
		return 0
	}
	return int(m[1][0]-'0')*100 + int(m[1][1]-'0')*10 + int(m[1][2]-'0')
}

func contains(s sign, any ...string) bool {
	for _, a := range any {
		if strings.Contains(s.text, a) {
			return true
		}
	}
	return false
}

func contextFull(s sign) bool {
	// Servers that lack memory advise a smaller context size.
	return !outOfMemory(s) && contains(s, "exceeds context", "exceeds the context", "exceeds the available context", "context length",
		"context size", "context window", "longer than the context", "prompt is too long", "prompt too long", "exceed_context",
		"context_length_exceeded", "maximum model length")
}

func noTools(s sign) bool {
	return contains(s, "does not support tool", "tools are not supported", "tool calling is not supported",
		"tool use is not supported", "tools param requires", "tool choice requires --enable-auto-tool-choice")
}

var notFound = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bmodel (?:\S{1,200} )?(?:was )?(?:not found|does not exist)`)
})

func modelMissing(s sign) bool {
	return s.status == http.StatusNotFound || contains(s, "try pulling it", "no such model") || notFound().MatchString(s.text)
}

func outOfMemory(s sign) bool {
	return contains(s, "out of memory", "cannot allocate", "requires more system memory", "unable to allocate", "failed to allocate",
		"not enough memory", "insufficient memory", "cudamalloc failed")
}

func modelLoading(s sign) bool {
	if contains(s, "error loading", "failed to load", "unable to load", "failed loading") {
		return false
	}
	return contains(s, "loading model", "is loading", "still loading", "being loaded") ||
		s.loading && s.status == http.StatusServiceUnavailable
}

func busy(s sign) bool {
	return s.status == http.StatusTooManyRequests || contains(s, "busy", "maximum pending requests", "queue full", "queue is full")
}

// hopeless connections fail the same way the next time.
func hopeless(s sign) bool {
	var dns *net.DNSError
	if errors.As(s.err, &dns) && dns.IsNotFound || contains(s, "no such host") {
		return true
	}
	var record tls.RecordHeaderError
	var verify *tls.CertificateVerificationError
	var alert tls.AlertError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	for _, target := range []any{&record, &verify, &alert, &authority, &host, &invalid} {
		if errors.As(s.err, target) {
			return true
		}
	}
	return contains(s, "tls: ", "x509: ", "server gave http response to https client")
}

func unreachable(s sign) bool {
	var op *net.OpError
	if errors.As(s.err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	for _, n := range []error{syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH} {
		if errors.Is(s.err, n) {
			return true
		}
	}
	return contains(s, "connection refused", "no route to host", "network is unreachable")
}

func repeatsItself(s sign) bool {
	return errors.Is(s.err, errRepeats) || contains(s, "token repeat limit")
}

var eof = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\beof\b`) })

func streamCut(s sign) bool {
	switch s.status {
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed,
		context.DeadlineExceeded, os.ErrDeadlineExceeded} {
		if errors.Is(s.err, e) {
			return true
		}
	}
	var timeout net.Error
	if errors.As(s.err, &timeout) && timeout.Timeout() {
		return true
	}
	return eof().MatchString(s.text) || contains(s, "connection reset", "broken pipe", "without done", "i/o timeout")
}

func refused(s sign) bool {
	// A redirect is as final: nobody entered the address that it names.
	return s.status >= 300 && s.status < 500 || contains(s, "invalid option", "invalid model name", "invalid format", "must be of type",
		"does not support thinking", "think value")
}

func serverFailed(s sign) bool {
	return s.status >= 500 || parserText(s) || contains(s, "runner terminated", "runner process has terminated",
		"runner has unexpectedly stopped", "error was encountered while running the model")
}

// parserFault says that the server could not read the Call that its model wrote. The same prompt mostly gives the same fault.
func parserFault(err error) bool {
	s, _ := readSign(err)
	return parserText(s)
}

func parserText(s sign) bool {
	return contains(s, "error parsing tool call", "failed to parse tool call", "tool call parsing failed")
}

func sentence(kind chat.Kind, model, address string) string {
	switch kind {
	case chat.KindContextFull:
		return "The conversation no longer fits the model's window."
	case chat.KindNoTools:
		return model + " cannot call tools. Choose another model or switch tools off."
	case chat.KindModelMissing:
		return model + " is not on the model server. Pull or import it."
	case chat.KindOutOfMemory:
		return model + " does not fit into memory with this window. Choose a smaller model or window."
	case chat.KindModelLoading:
		return model + " did not finish loading."
	case chat.KindBusy:
		return "The model server is busy."
	case chat.KindUnreachable:
		if address == "" {
			return "The model server does not answer."
		}
		return "The model server at " + address + " does not answer."
	case chat.KindSlowStart:
		return "The model did not start to answer in time."
	case chat.KindSilent:
		return "The model stopped answering in the middle."
	case chat.KindLoop:
		return "The model repeated itself."
	case chat.KindStreamCut:
		return "The connection to the model broke off."
	case chat.KindAuth:
		return "The model server refused access."
	case chat.KindConfig:
		return "The model server refused the request."
	case chat.KindServer:
		return "The model server failed."
	}
	return "The turn failed."
}

// detail is what the server said, or what the transport found.
func detail(err error, f chat.Fault) string {
	text := f.Text
	if f.Err != nil {
		text = strings.TrimPrefix(text+": "+f.Err.Error(), ": ")
	}
	if text == "" {
		text = err.Error()
	}
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	n := 0
	for i := range text {
		if n == maxDetail {
			return text[:i]
		}
		n++
	}
	return text
}
