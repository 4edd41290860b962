package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// TestEveryKindHasAStatus reads the dictionary's constants, so that a new kind cannot be forgotten here.
func TestEveryKindHasAStatus(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../engine/chat/error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); !ok || id.Name != "Kind" {
			return true
		}
		text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kinds++
		if status, ok := statusOf(chat.Kind(text)); !ok || status < 400 || http.StatusText(status) == "" {
			t.Errorf("kind %s: status %d, %v", text, status, ok)
		}
		return true
	})
	if kinds < 30 {
		t.Errorf("only %d kinds found", kinds)
	}
	if _, ok := statusOf("nonsense"); ok {
		t.Error("an unknown kind has a status")
	}
}

// TestStatusesOfTheSpec is the table of operations.md 3.
func TestStatusesOfTheSpec(t *testing.T) {
	for status, kinds := range map[int]string{
		400: "invalid", 404: "not_found", 401: "unauthenticated", 403: "forbidden cross_origin",
		409: "wrong_state archived usage_limit idempotency_mismatch chat_damaged", 413: "too_large", 415: "not_json", 421: "unknown_host",
		429: "rate_limited queue_full", 500: "internal store_damaged", 503: "starting stopping read_only commit_unknown", 507: "no_space",
	} {
		for kind := range strings.FieldsSeq(kinds) {
			if got, ok := statusOf(chat.Kind(kind)); !ok || got != status {
				t.Errorf("%s: %d, want %d", kind, got, status)
			}
		}
	}
}

func failing(err error) Route {
	return Route{Pattern: "GET /api/v1/fail", Policy: User, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", "x")
		w.Header().Set("Content-Length", "7")
		WriteError(w, r, err)
	})}
}

func TestErrorsAreWrittenInOnePlace(t *testing.T) {
	secret := errors.New("open /var/lib/secret: permission denied")
	for name, c := range map[string]struct {
		err    error
		status int
		want   answer
		retry  string
	}{
		"known":       {chat.Invalid("title", "is too long"), 400, answer{Kind: "invalid", Message: "The request is not valid.", Detail: "is too long", Validations: []chat.Validation{{Field: "title", Detail: "is too long"}}}, ""},
		"wrapped":     {fmt.Errorf("x: %w", chat.NotFound("chat")), 404, answer{Kind: "not_found", Message: "There is no such chat."}, ""},
		"with cause":  {&chat.Error{Kind: chat.KindReadOnly, Message: "m", Cause: secret}, 503, answer{Kind: "read_only", Message: "m"}, "5"},
		"queue":       {&chat.Error{Kind: chat.KindQueueFull, Message: "m"}, 429, answer{Kind: "queue_full", Message: "m"}, "1"},
		"unknown":     {secret, 500, answer{Kind: "internal", Message: internal}, ""},
		"internal":    {&chat.Error{Kind: chat.KindInternal, Message: secret.Error(), Cause: secret}, 500, answer{Kind: "internal", Message: internal}, ""},
		"no kind":     {&chat.Error{Kind: "odd", Message: secret.Error()}, 500, answer{Kind: "internal", Message: internal}, ""},
		"too large":   {&http.MaxBytesError{Limit: 9}, 413, answer{Kind: "too_large", Message: "The request is too large.", Detail: "At most 9 bytes are taken here."}, ""},
		"long detail": {&chat.Error{Kind: chat.KindArchived, Message: "m", Detail: strings.Repeat("ä", 600)}, 409, answer{Kind: "archived", Message: "m", Detail: strings.Repeat("ä", 500)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := build(t, nil2addr(), nil, failing(c.err))
			w := p.local("GET", "/api/v1/fail", "Authorization: Bearer "+p.token("owner"))
			var got answer
			p.must(json.Unmarshal(w.Body.Bytes(), &got))
			id := w.Header().Get("Request-Id")
			c.want.RequestID = id
			if w.Code != c.status || fmt.Sprint(got) != fmt.Sprint(c.want) || w.Header().Get("Retry-After") != c.retry {
				t.Errorf("%d %+v, Retry-After %q; want %d %+v, %q", w.Code, got, w.Header().Get("Retry-After"), c.status, c.want, c.retry)
			}
			if h := w.Header(); h.Get("Content-Type") != "application/json" || h.Get("ETag") != "" || h.Get("Content-Length") != "" {
				t.Errorf("headers %v", h)
			}
			log := p.log.take()
			if errors.Is(c.err, secret) || name == "no kind" {
				if !strings.Contains(log, secret.Error()) || !strings.Contains(log, chat.LogRequestID+"="+id) {
					t.Errorf("log:\n%s", log)
				}
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("body: %s", w.Body)
			}
			if strings.Contains(log, "level=ERROR") != (c.status == 500) {
				t.Errorf("status %d, log:\n%s", c.status, log)
			}
		})
	}
}

func TestDocumentsGetTheErrorPage(t *testing.T) {
	p := build(t, nil2addr(), func(o *Options) {
		o.ErrorPage = func(w http.ResponseWriter, r *http.Request, e *chat.Error, status int) {
			w.WriteHeader(status)
			fmt.Fprint(w, "<p>", e.Kind, " ", RequestID(r.Context()))
		}
	})
	w := p.local("GET", "/nowhere", "Authorization: Bearer "+p.token("owner"))
	if want := "<p>not_found " + w.Header().Get("Request-Id"); w.Code != 404 || w.Body.String() != want {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	p = build(t, nil2addr(), nil)
	w = p.local("GET", "/settings", "Authorization: Bearer "+p.token(chat.UserMember))
	if w.Code != 403 || !strings.HasPrefix(w.Body.String(), "Only an admin may do this.\nRequest ") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestPanicsEndOnlyTheirRequest(t *testing.T) {
	p := open(t, nil,
		Route{Pattern: "GET /api/v1/panic", Policy: User, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("kaboom") })},
		Route{Pattern: "GET /api/v1/late", Policy: User, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			panic("too late")
		})})
	token := "Authorization: Bearer " + p.token("owner")
	r := p.ask("GET", "/api/v1/panic", "", token)
	if r.StatusCode != 500 || !strings.Contains(r.body, internal) || strings.Contains(r.body, "kaboom") {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	log := p.log.take()
	if !strings.Contains(log, "kaboom") || !strings.Contains(log, r.Header.Get("Request-Id")) || !strings.Contains(log, "fault_test.go") {
		t.Errorf("log:\n%s", log)
	}
	res, err := http.DefaultTransport.RoundTrip(p.request("GET", "/api/v1/late", "", token))
	p.must(err)
	if b, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("an answer that broke off looks whole: %q", b)
	}
	p.must(res.Body.Close())
	if r := p.ask("GET", "/api/v1/chats", "", token); r.StatusCode != 200 {
		t.Errorf("afterwards: %d", r.StatusCode)
	}
	if log := p.log.take(); !strings.Contains(log, "too late") || !strings.Contains(log, "/api/v1/late") {
		t.Errorf("log:\n%s", log)
	}
}

func TestReadJSON(t *testing.T) {
	p := open(t, nil)
	token := "Authorization: Bearer " + p.token("owner")
	deep := func(n int) string { return `{"text":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}" }
	for name, c := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"good":          {`{"text":"hi \"{[\\"} `, 200, ""},
		"empty":         {"", 400, "the body is empty"},
		"null":          {" null\n", 400, "the body is null"},
		"unknown field": {`{"text":"a","txet":1}`, 400, `"field":"txet"`},
		"wrong type":    {`{"text":7}`, 400, `"field":"text","detail":"must not be a number"`},
		"not JSON":      {`{text}`, 400, "invalid character"},
		"cut":           {`{"text":"a`, 400, "unexpected EOF"},
		"two values":    {`{} {}`, 400, "after the value"},
		"garbage after": {`{}x`, 400, "after the value"},
		"deepest":       {deep(63), 400, "must not be a array"},
		"too deep":      {deep(64), 400, "nested deeper than 64"},
		"too large":     {`{"text":"` + strings.Repeat("x", DefaultBody) + `"}`, 413, "1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.ask("POST", "/api/v1/chats", c.body, token, "Content-Type: application/json")
			if r.StatusCode != c.status || !strings.Contains(r.body, c.want) {
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
			if (p.ran.take() != "") != (c.status == 200) {
				t.Error("the handler went on")
			}
		})
	}
}

func TestHealth(t *testing.T) {
	now := Readiness{ModelServer: "unreachable"}
	p := build(t, nil2addr(), func(o *Options) { o.Ready = func() Readiness { return now } })
	if w := p.local("GET", "/readyz"); w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"ready":true,"reasons":[],"model_server":"unreachable"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	now.NotReady = []string{"recovering"}
	if w := p.local("GET", "/readyz"); w.Code != 503 || w.Header().Get("Retry-After") != "5" || !strings.Contains(w.Body.String(), `["recovering"]`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	p.must(p.store.Close())
	if w := p.local("GET", "/healthz"); w.Code != 200 || w.Body.String() != "ok\n" {
		t.Errorf("without the store: %d %s", w.Code, w.Body)
	}
	if w := p.local("GET", "/login", "Cookie: "+p.gate.CookieName()+"=x"); w.Code != 200 {
		t.Errorf("the login page without the store: %d", w.Code)
	}
	if w := p.local("GET", "/api/v1/chats", "Authorization: Bearer x"); w.Code != 503 || !strings.Contains(w.Body.String(), "stopping") {
		t.Errorf("the API without the store: %d %s", w.Code, w.Body)
	}
}

// TestWrappersUnwrap: a stream must reach the connection's abilities through all wrappers.
func TestWrappersUnwrap(t *testing.T) {
	below := httptest.NewRecorder()
	w := &response{ResponseWriter: below}
	if err := http.NewResponseController(w).Flush(); err != nil || !below.Flushed || w.status != 200 {
		t.Errorf("flush: %v, %v, %d", err, below.Flushed, w.status)
	}
	if w.Unwrap() != http.ResponseWriter(below) {
		t.Error("Unwrap does not give what is below")
	}
	if n, err := w.ReadFrom(strings.NewReader("abc")); n != 3 || err != nil || below.Body.String() != "abc" {
		t.Errorf("ReadFrom: %d, %v, %q", n, err, below.Body)
	}
}
