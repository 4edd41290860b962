package ollama

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

var update = flag.Bool("update", false, "write the golden files")

func ptr[T any](v T) *T { return &v }

// full is a request in which every field is set.
func full() *chat.Request {
	return &chat.Request{
		Model: "m",
		Options: chat.Options{NumCtx: 16384, Temperature: ptr(0.2), TopP: ptr(0.95), TopK: ptr(40), MinP: ptr(0.05), RepeatPenalty: ptr(1.0),
			Seed: ptr(7), Stop: []string{"</end>", "\n\n"}, KeepAlive: "-1"},
		MaxTokens: 1234,
		System:    "You are \"Holdfast\".\n<rules> & more\u2028",
		Think:     "true",
		Tools: []chat.ToolDef{
			{Name: "read_file", Description: "Read a text file.", Short: "no", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","minLength":1},"limit":{"type":"integer","default":20}},"required":["path"],"additionalProperties":false}`)},
			{Name: "process_list", Description: "List.", Schema: json.RawMessage(`{"type":"object","properties":{},"required":[]}`)},
		},
		Messages: []chat.PromptMessage{
			{Role: chat.RoleUser, Content: "What is in it?", Images: []string{"aGk="}},
			{Role: chat.RoleAssistant, Content: "", Reasoning: "I read it.", Calls: []chat.Call{
				{ID: "call_aaaaaaaa", Name: "read_file", Args: json.RawMessage(`{"path":"a.txt","limit":3}`)},
				{ID: "call_bbbbbbbb", Name: "process_list"},
			}},
			{Role: chat.RoleTool, Content: `{"output":"x"}`, CallID: "call_aaaaaaaa", ToolName: "read_file"},
			{Role: chat.RoleTool, Content: "no processes", CallID: "call_bbbbbbbb", ToolName: "process_list"},
			{Role: chat.RoleUser, Content: "bytes \xff and \x00 and \t", Calls: nil},
		},
	}
}

func TestRequestBytes(t *testing.T) {
	plain := ask("hello")
	formatted := ask("a title")
	formatted.Class, formatted.Think = chat.ClassQuick, "false"
	formatted.Format = json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`)
	for name, req := range map[string]*chat.Request{"plain": plain, "full": full(), "format": formatted} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, s := serve(t, Options{}, scripted.Model{Name: "m", Capabilities: []string{"completion", "tools", "thinking", "vision"}})
				for range 2 {
					if _, _, err := listen(t, t.Context(), a, req); err != nil {
						t.Fatal(err)
					}
				}
				sent := s.Requests("/api/chat")
				if !bytes.Equal(sent[0].Body, sent[1].Body) {
					t.Errorf("the same request has two forms:\n%s\n%s", sent[0].Body, sent[1].Body)
				}
				if got := sent[0].Header.Get("Content-Length"); got == "" && sent[0].Header.Get("Transfer-Encoding") != "" {
					t.Error("the length was not known")
				}
				golden(t, "request_"+name+".json", sent[0].Body)
			})
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if !json.Valid(got) {
		t.Errorf("not JSON: %s", got)
	}
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs:\n%s", file, got)
	}
}

func TestPrefixIsStable(t *testing.T) {
	a := New(Options{})
	req := full()
	all := req.Messages
	var last []byte
	for n := 1; n <= len(all); n++ {
		req.Messages = all[:n]
		body, err := a.encode(req, shown{}, 4096)
		if err != nil {
			t.Fatal(err)
		}
		if begin := bytes.TrimSuffix(last, []byte("]}")); !bytes.HasPrefix(body, begin) {
			t.Errorf("with %d messages the request begins otherwise:\n%s\n%s", n, last, body)
		}
		last = body
	}
	// The order of offers and their bytes are the caller's; another list is not taken for the cached one.
	req.Tools = req.Tools[:1]
	if body, err := a.encode(req, shown{}, 4096); err != nil || bytes.Contains(body, []byte(`"description":"List."`)) {
		t.Errorf("%v: %s", err, body)
	}
}

func TestBadRequests(t *testing.T) {
	a := New(Options{})
	for name, spoil := range map[string]func(*chat.Request){
		"no window":    func(r *chat.Request) { r.Options.NumCtx = 0 },
		"no limit":     func(r *chat.Request) { r.MaxTokens = 0 },
		"keep alive":   func(r *chat.Request) { r.Options.KeepAlive = "soon" },
		"schema":       func(r *chat.Request) { r.Tools = []chat.ToolDef{{Name: "x", Schema: json.RawMessage(`{`)}} },
		"empty schema": func(r *chat.Request) { r.Tools = []chat.ToolDef{{Name: "x"}} },
		"format":       func(r *chat.Request) { r.Format = json.RawMessage(`{`) },
	} {
		req := full()
		spoil(req)
		_, err := a.encode(req, shown{}, req.Options.NumCtx)
		if f := fault(t, err); f.Status != 400 || !strings.Contains(f.Text, "invalid option") {
			t.Errorf("%s: %v", name, f)
		}
	}
}

func TestThink(t *testing.T) {
	can := shown{capabilities: []string{"thinking"}, family: "qwen3"}
	levels := shown{capabilities: []string{"thinking"}, family: "gptoss"}
	for _, c := range []struct {
		wish string
		m    shown
		want string
	}{
		{"", can, ""}, {"true", can, "true"}, {"false", can, "false"}, {"high", can, "true"},
		{"true", shown{}, ""}, {"false", shown{}, ""}, {"low", shown{}, ""},
		{"", levels, ""}, {"true", levels, "true"}, {"false", levels, `"low"`}, {"medium", levels, `"medium"`},
	} {
		if got := thinkJSON(c.wish, c.m); got != c.want {
			t.Errorf("%q for %s: %s, want %s", c.wish, c.m.family, got, c.want)
		}
	}
}

func TestKeepAlive(t *testing.T) {
	for in, want := range map[string]string{"30m": `"30m"`, "-1": "-1", "0": "0", "90": "90", "1h30m": `"1h30m"`} {
		if got, err := keepAliveJSON(in); err != nil || got != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}

func FuzzAppendQuoted(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\r\t\b\f\x00\x1f\x7f", "<&>", "\u2028\u2029", "\xff\xc3", "👍\xf0\x9f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := appendQuoted(nil, s); string(got)+"\n" != want.String() {
			t.Errorf("%q: %s, want %s", s, got, want.String())
		}
	})
}
