package quick

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
)

// labelled is a final text and what it is.
type labelled struct {
	status Status
	text   string
}

// finalTexts reads testdata/final-texts.txt: a text in each line behind its label, \n stands for a line's end.
func finalTexts(t testing.TB) []labelled {
	t.Helper()
	b, err := os.ReadFile("testdata/final-texts.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []labelled
	for line := range strings.Lines(string(b)) {
		label, text, ok := strings.Cut(strings.TrimSpace(line), "|")
		if !ok || known(Status(label)) == "" || text == "" {
			t.Fatalf("%q is no labelled text", line)
		}
		out = append(out, labelled{Status(label), strings.ReplaceAll(text, `\n`, "\n")})
	}
	return out
}

// TestTheLabelledTexts: there are enough of each label, none twice.
func TestTheLabelledTexts(t *testing.T) {
	seen, of := map[string]bool{}, map[Status]int{}
	for _, x := range finalTexts(t) {
		if seen[x.text] {
			t.Errorf("twice: %s", x.text)
		}
		seen[x.text] = true
		of[x.status]++
	}
	if len(seen) < 200 || of[StatusComplete] < 60 || of[StatusQuestion] < 60 || of[StatusUpdate] < 60 {
		t.Errorf("%d texts: %v", len(seen), of)
	}
}

func TestClassify(t *testing.T) {
	for answer, want := range map[string]Status{
		`{"status":"complete"}`: StatusComplete, " {\"status\": \"question\"}\n": StatusQuestion, "```json\n{\"status\":\"update\"}\n```": StatusUpdate,
		`{"status":"Complete"}`: "", `{"status":"done"}`: "", `complete`: "", `{"state":"complete"}`: "", ``: "", `{"status":["complete"]}`: "",
	} {
		m := &canned{answer: answer}
		got, reply, err := Classify(t.Context(), m, base(), strings.Repeat("a", 8000)+strings.Repeat("b", 2000))
		if got != want || err != nil || reply.Usage.OutputTokens == nil {
			t.Errorf("%s is %q, %v", answer, got, err)
		}
		r := m.req
		if r.MaxTokens != 32 || r.Class != chat.ClassQuick || r.Think != "false" || len(r.Tools) != 0 || !json.Valid(r.Format) || len(r.Messages) != 1 ||
			strings.Contains(r.Messages[0].Content, "aaa") || strings.Count(r.Messages[0].Content, "b") != 2000 || r.Options.NumCtx != 8192 {
			t.Errorf("asked was %+v", r)
		}
	}
}

func TestClassifyOwn(t *testing.T) {
	for answer, want := range map[string]Status{
		"complete": StatusComplete, "Question.": StatusQuestion, " **update**, since": StatusUpdate, `"complete"`: StatusComplete,
		"done!": "", "It is complete": "", "": "", "completed": "", "{\"status\":\"complete\"}": "",
	} {
		m := &canned{answer: answer}
		req := base()
		got, _, err := ClassifyOwn(t.Context(), m, req)
		if got != want || err != nil {
			t.Errorf("%s is %q, %v", answer, got, err)
		}
		r := m.req
		if len(r.Messages) != 2 || r.Messages[0].Content != "not sent" || r.Format != nil || len(r.Tools) != 1 || r.MaxTokens != 32 || r.System != req.System ||
			len(req.Messages) != 1 {
			t.Errorf("asked was %+v", r)
		}
	}
}

func TestAJudgeHas15Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ask := range []func(chat.Model) error{
			func(m chat.Model) error { _, _, err := Classify(t.Context(), m, base(), "x"); return err },
			func(m chat.Model) error { _, _, err := ClassifyOwn(t.Context(), m, base()); return err },
		} {
			began := time.Now()
			if err := ask(&canned{answer: "complete", wait: time.Hour}); err == nil || time.Since(began) != 15*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		}
	})
}

// canned is a chat.Model that streams its answer.
type canned struct {
	answer string
	wait   time.Duration
	req    *chat.Request
}

func (a *canned) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	m := &answer{text: a.answer, wait: a.wait}
	reply, err := m.Stream(ctx, req, yield)
	a.req = m.req
	return reply, err
}

func TestSummary(t *testing.T) {
	for text, want := range map[string]string{
		`{"summary":"Added a retry to the feed."}`: "Added a retry to the feed.", `{"summary":" two\n lines "}`: "two lines",
		"{\"summary\":\"Set `__all__` in **feed**.\"}": "Set __all__ in feed.",
		`{"summary":""}`: "", `{"summary":"` + strings.Repeat("x", 101) + `"}`: "", `no json`: "", `{"title":"x"}`: "",
	} {
		m := &answer{text: text}
		got, _, err := Summary(t.Context(), m, base(), "A title", "the final text")
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s is %q, %v", text, got, err)
		}
		if c := m.req.Messages[0].Content; !strings.Contains(c, "A title") || !strings.Contains(c, "the final text") || m.req.MaxTokens != 64 {
			t.Errorf("%+v", m.req)
		}
	}
}

func TestFirstSentence(t *testing.T) {
	for in, want := range map[string]struct {
		line  string
		whole bool
	}{
		"":                                {"", true},
		"Done.":                           {"Done.", true},
		"Done. More follows.":             {"Done.", false},
		"1. Read it\n2. Mend it. Then go": {"Read it Mend it.", false},
		"42. That is all.":                {"42.", false},
		"It is 42. That is all.":          {"It is 42.", false},
		"42.":                             {"42.", true},
		"I changed main.go:14 and left.":  {"I changed main.go:14 and left.", true},
		"## Summary\n\n- **one** thing\n- another": {"Summary.", false},
		"Version 2.3.1 fixes `it`":                 {"Version 2.3.1 fixes it", true},
		"```\ncode. here\n```\nAfter it.":          {"After it.", true},
		"修正しました。次に進みます。":                           {"修正しました。", false},
		strings.Repeat("word ", 40):                {strings.TrimSpace(string([]rune(strings.Repeat("word ", 40))[:99])) + "…", false},
	} {
		if line, whole := FirstSentence(in); line != want.line || whole != want.whole {
			t.Errorf("FirstSentence(%q) = %q, %v", in, line, whole)
		}
	}
}
