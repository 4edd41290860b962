package quick

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// answer is a chat.Model that streams its text in two pieces and keeps the request.
type answer struct {
	text string
	wait time.Duration
	err  error
	// lost is text of an attempt that failed before.
	lost string
	req  *chat.Request
}

func (a *answer) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	a.req = req
	select {
	case <-time.After(a.wait):
	case <-ctx.Done():
		return chat.Reply{}, context.Cause(ctx)
	}
	deltas := []chat.Delta{{Reasoning: "hm"}, {Text: a.text[:len(a.text)/2]}, {Text: a.text[len(a.text)/2:]}}
	if a.lost != "" {
		deltas = append([]chat.Delta{{Text: a.lost}, {Retry: &chat.Retry{Attempt: 1}}}, deltas...)
	}
	for _, d := range deltas {
		if err := yield(d); err != nil {
			return chat.Reply{}, err
		}
	}
	out := int64(7)
	return chat.Reply{Usage: chat.Usage{OutputTokens: &out}}, a.err
}

func base() *chat.Request {
	warm := 0.9
	return &chat.Request{Model: "m:1b", MaxTokens: 9000, System: "long system text", Think: "high",
		Options:  chat.Options{NumCtx: 8192, KeepAlive: "30m", Temperature: &warm, Stop: []string{"}"}},
		Messages: []chat.PromptMessage{{Role: chat.RoleUser, Content: "not sent"}}, Tools: []chat.ToolDef{{Name: "execute"}}}
}

func TestTitle(t *testing.T) {
	for _, c := range []struct{ name, answer, want string }{
		{"plain", `{"title": "Add a version flag"}`, "Add a version flag"},
		{"quoted, spaced, with a full stop", "{\"title\": \" “Add  a\\nversion flag.” \"}", "Add a version flag"},
		{"fenced", "```json\n{\"title\":\"Two words\"}\n```", "Two words"},
		{"eight words", `{"title":"a b c d e f g h"}`, "a b c d e f g h"},
		{"hidden characters", `{"title":"Fix\u200b the\u202e build"}`, "Fix the build"},
		{"one word", `{"title":"Version"}`, ""},
		{"a script without spaces", `{"title":"修复解析器的越界读取"}`, "修复解析器的越界读取"},
		{"one word of it", `{"title":"修复"}`, ""},
		{"a whole sentence of it", `{"title":"` + strings.Repeat("修复解析", 8) + `"}`, ""},
		{"twelve words", `{"title":"a b c d e f g h i j k l"}`, ""},
		{"too long", `{"title":"` + strings.Repeat("x", 50) + ` ` + strings.Repeat("y", 30) + `"}`, ""},
		{"no JSON", `Add a version flag`, ""},
		{"another key", `{"name":"Add a flag"}`, ""},
		{"not a string", `{"title":["a b"]}`, ""},
		{"nothing", ``, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &answer{text: c.answer, lost: `{"title":"lost`}
			got, usage, err := Title(t.Context(), m, base(), "add a flag", "")
			if got != c.want || (err != nil) != (c.want == "") || err != nil && !errors.Is(err, ErrTitle) {
				t.Errorf("%q, %v", got, err)
			}
			if usage.OutputTokens == nil || *usage.OutputTokens != 7 {
				t.Error("the usage is lost")
			}
		})
	}
}

func TestTitleRequest(t *testing.T) {
	m := &answer{text: `{"title":"Two words"}`}
	if _, _, err := Title(t.Context(), m, base(), "add\x00 a flag", ""); err != nil {
		t.Fatal(err)
	}
	r := m.req
	if r.Model != "m:1b" || r.Class != chat.ClassQuick || r.MaxTokens != 256 || r.Think != "false" || len(r.Tools) != 0 {
		t.Errorf("%+v", r)
	}
	if r.Options.NumCtx != 8192 || r.Options.KeepAlive != "30m" || *r.Options.Temperature != 0 || r.Options.Stop != nil {
		t.Errorf("%+v", r.Options)
	}
	if !json.Valid(r.Format) || len(r.Messages) != 1 || !strings.HasSuffix(r.Messages[0].Content, "\n\nadd a flag") {
		t.Errorf("%s %+v", r.Format, r.Messages)
	}
}

// TestOwn: what a Chat's own model is asked goes behind its messages, with its tools and options and without a format.
func TestOwn(t *testing.T) {
	title := func(m chat.Model, req *chat.Request) (string, error) {
		got, _, err := TitleOwn(t.Context(), m, req)
		return got, err
	}
	summary := func(m chat.Model, req *chat.Request) (string, error) {
		got, _, err := SummaryOwn(t.Context(), m, req)
		return got, err
	}
	for _, c := range []struct {
		ask          func(chat.Model, *chat.Request) (string, error)
		tokens       int
		answer, want string
	}{
		{title, 256, "Two words", "Two words"},
		{title, 256, "\n \"Add a flag.\" \n", "Add a flag"},
		{title, 256, `{"title":"Two words"}`, "Two words"},
		{title, 256, "```json\n{\"title\":\"Two words\"}\n```", "Two words"},
		{title, 256, `{"summary":"Two words"}`, ""},
		{title, 256, "One", ""},
		{title, 256, "Here is one:\nTwo words", ""},
		{title, 256, "", ""},
		{summary, 64, "The flag is there.", "The flag is there."},
		{summary, 64, `{"summary":"The flag is there."}`, "The flag is there."},
		{summary, 64, strings.Repeat("x", 101), ""},
		{summary, 64, "One.\n\nTwo.", ""},
		{summary, 64, " ", ""},
	} {
		m, req := &answer{text: c.answer, lost: "lost"}, base()
		req.Format = json.RawMessage(`{"type":"object"}`)
		got, err := c.ask(m, req)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q is %q, %v", c.answer, got, err)
		}
		r := m.req
		if len(r.Messages) != 2 || r.Messages[0].Content != "not sent" || r.Format != nil || len(r.Tools) != 1 || r.MaxTokens != c.tokens || r.System != req.System ||
			*r.Options.Temperature != *req.Options.Temperature || len(req.Messages) != 1 || r.Class != chat.ClassQuick {
			t.Errorf("asked was %+v", r)
		}
	}
}

func TestTitleInputIsBounded(t *testing.T) {
	for _, c := range []struct {
		first, last string
		a, b        int
	}{
		{strings.Repeat("a", 9000), "", 6000, 0},
		{strings.Repeat("a", 9000), strings.Repeat("b", 9000), 3000, 3000},
		{strings.Repeat("a", 100), strings.Repeat("b", 9000), 100, 5900},
		{strings.Repeat("a", 9000), strings.Repeat("b", 100), 5900, 100},
	} {
		m := &answer{text: `{"title":"Two words"}`}
		if _, _, err := Title(t.Context(), m, base(), strings.ReplaceAll(c.first, "a", "é"), strings.ReplaceAll(c.last, "b", "ß")); err != nil {
			t.Fatal(err)
		}
		content := m.req.Messages[0].Content
		if a, b := strings.Count(content, "é"), strings.Count(content, "ß"); a != c.a || b != c.b {
			t.Errorf("%d and %d, want %d and %d", a, b, c.a, c.b)
		}
	}
}

func TestTitleTakesNoLongerThan30Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, _, err := Title(t.Context(), &answer{text: "{}", wait: time.Hour}, base(), "x", "")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(chat.CauseShutdown) })
		if _, _, err := Title(ctx, &answer{text: "{}", wait: time.Hour}, base(), "x", ""); err != chat.CauseShutdown {
			t.Errorf("%v", err)
		}
	})
}

func TestTitlePassesOnTheModelsError(t *testing.T) {
	broken := &chat.Error{Kind: chat.KindBusy}
	if _, _, err := Title(t.Context(), &answer{text: "{}", err: broken}, base(), "x", ""); err != broken {
		t.Errorf("%v", err)
	}
}

func TestFallbackTitle(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "New chat",
		" \n\t\x00 ":                       "New chat",
		"hello":                            "hello",
		"one two\nthree four  five six":    "one two three four five six",
		"one two three four five six more": "one two three four five six…",
		strings.Repeat("é", 80):            strings.Repeat("é", 80),
		strings.Repeat("é", 81):            strings.Repeat("é", 79) + "…",
		strings.Repeat("a", 78) + " b c":   strings.Repeat("a", 78) + "…",
		"a\xffb":                           "ab",
	} {
		if got := FallbackTitle(in); got != want {
			t.Errorf("FallbackTitle(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzTitles(f *testing.F) {
	f.Add("```json\n{\"title\":\"'A b'\"}")
	f.Fuzz(func(t *testing.T, s string) {
		if got := FallbackTitle(s); got == "" || utf8.RuneCountInString(got) > 80 || strings.ContainsAny(got, "\n\x00") || !utf8.ValidString(got) {
			t.Fatalf("%q", got)
		}
		got, err := readTitle(s)
		if n := len(strings.Fields(got)); err == nil && (n < 2 || n > 8 || utf8.RuneCountInString(got) > 80) {
			t.Fatalf("%q", got)
		}
	})
}
