package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

const read = `read_file{"path":"a.go"}`

func TestRecognise(t *testing.T) {
	for _, c := range []struct {
		name, in, form, prefix string
		// want holds the Calls as name and compact arguments.
		want []string
	}{
		{"bare object", `{"name": "read_file", "arguments": {"path": "a.go"}}`, FormJSON, "", []string{read}},
		{"after text", "I look at it.\n\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.go\"}}\n", FormJSON, "I look at it.", []string{read}},
		{"array", `[{"name":"read_file","arguments":{"path":"a.go"}}, {"tool":"execute","args":{"command":"ls"}}]`, FormJSON, "",
			[]string{read, `execute{"command":"ls"}`}},
		{"two objects", "{\"name\":\"read_file\",\"input\":{\"path\":\"a.go\"}}\n{\"name\":\"execute\",\"parameters\":{\"command\":\"ls\"}}",
			FormJSON, "", []string{read, `execute{"command":"ls"}`}},
		{"OpenAI's shape", `{"id":"x","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.go\"}"}}`, FormJSON, "",
			[]string{read}},
		{"function as a name", `{"function":"read_file","args":{"path":"a.go"}}`, FormJSON, "", []string{read}},
		{"function beside arguments", `{"function":{"name":"read_file"},"arguments":{"path":"a.go"}}`, FormJSON, "", []string{read}},
		{"null arguments", `{"name":"execute","arguments":null}`, FormJSON, "", []string{`execute{}`}},
		{"arguments that are no object", `{"name":"execute","arguments":"ls -l"}`, FormJSON, "", []string{`execute`}},
		{"name without case", `{"name":"Read-File","arguments":{"path":"a.go"}}`, FormJSON, "", []string{read}},
		{"fence", "Sure:\n```json\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.go\"}}\n```\n \n", FormFence, "Sure:", []string{read}},
		{"fence without a word, on one line", "```{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.go\"}}```", FormFence, "", []string{read}},
		{"fences inside the arguments", "```json\n{\"name\":\"write_file\",\"arguments\":{\"path\":\"a.md\",\"content\":\"```go\\nx\\n```\"}}\n```",
			FormFence, "", []string{"write_file{\"path\":\"a.md\",\"content\":\"```go\\nx\\n```\"}"}},
		{"two fences", "a\n```json\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.go\"}}\n```\n```json\n{\"name\":\"execute\",\"arguments\":{}}\n```",
			FormFence, "a", []string{read, `execute{}`}},
		{"fence that was not closed", "ok\n```json\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.go\"}}", FormJSON, "ok", []string{read}},
		{"tag pair", "ok <tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.go\"}}\n</tool_call>", FormTag, "ok", []string{read}},
		{"two tag pairs", "<tool_call>{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.go\"}}</tool_call>\n<tool_call>{\"name\":\"execute\"}</tool_call>",
			FormTag, "", []string{read, `execute{}`}},
		{"tag that was not closed", "<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.go\"}}", FormJSON, "", []string{read}},
		{"named function", "<function=read_file>{\"path\":\"a.go\"}</function>", FormTag, "", []string{read}},
		{"named function, not closed", "so <function=read_file>{\"path\":\"a.go\"}", FormTag, "so", []string{read}},
		{"function with a name attribute", `<function name="read_file">{"path":"a.go"}</function>`, FormTag, "", []string{read}},
		{"parameters as tags", "<tool_call>\n<function=write_file>\n<parameter=path>\na.go\n</parameter>\n<parameter=content>\nx < y\n\n</parameter>\n</function>\n</tool_call>",
			FormTag, "", []string{`write_file{"path":"a.go","content":"x < y\n"}`}},
		{"function_call", "<function_call>{\"name\":\"execute\",\"arguments\":{}}</function_call>", FormTag, "", []string{`execute{}`}},
		{"tool", "<tool>{\"tool\":\"execute\",\"arguments\":{}}</tool>", FormTag, "", []string{`execute{}`}},
		{"mistral's list", `Hm. [TOOL_CALLS] [{"name": "read_file", "arguments": {"path": "a.go"}}]`, FormMistral, "Hm.", []string{read}},
		{"mistral's names", `[TOOL_CALLS]read_file[ARGS]{"path":"a.go"}[TOOL_CALLS]execute{"command":"ls"}`, FormMistral, "",
			[]string{read, `execute{"command":"ls"}`}},

		{"trailing commas", `{"name":"read_file","arguments":{"path":"a.go",},}`, FormJSON, "", []string{read}},
		{"a missing brace", `{"name":"read_file","arguments":{"path":"a.go"}`, FormJSON, "", []string{read}},
		{"missing bracket and braces", `[{"name":"read_file","arguments":{"path":"a.go"`, FormJSON, "", []string{read}},
		{"raw line breaks in a string", "{\"name\":\"write_file\",\"arguments\":{\"content\":\"a\n\tb\"}}", FormJSON, "",
			[]string{`write_file{"content":"a\n\tb"}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			prefix, calls, form, ok := Recognise(c.in, []string{"read_file", "execute", "write_file"})
			var got []string
			for _, call := range calls {
				args := ""
				if call.Args != nil {
					args = compactJSON(call.Args)
				}
				got = append(got, call.Name+args)
			}
			if !ok || strings.Join(got, "\n") != strings.Join(c.want, "\n") || form != c.form || prefix != c.prefix {
				t.Errorf("ok %v form %q prefix %q calls\n%s\nwant form %q prefix %q\n%s", ok, form, prefix, strings.Join(got, "\n"), c.form,
					c.prefix, strings.Join(c.want, "\n"))
			}
		})
	}
}

func TestTextThatStaysText(t *testing.T) {
	for _, c := range []struct{ name, in string }{
		{"unknown tool", `{"name":"rm_rf","arguments":{}}`},
		{"one of two unknown", `[{"name":"read_file","arguments":{"path":"a.go"}},{"name":"rm_rf","arguments":{}}]`},
		{"an unknown one before it", "```json\n{\"name\":\"rm_rf\",\"arguments\":{}}\n```\n```json\n{\"name\":\"execute\",\"arguments\":{}}\n```"},
		{"text after it", `{"name":"read_file","arguments":{"path":"a.go"}} is how you call it.`},
		{"text after a fence", "```json\n{\"name\":\"read_file\",\"arguments\":{}}\n```\nWould you like that?"},
		{"no arguments", `{"name":"read_file"}`},
		{"data", `{"name":"read_file","version":"1.0"}`},
		{"a string that never ends", `{"name":"write_file","arguments":{"content":"abc`},
		{"the name is no string", `{"name":7,"arguments":{}}`},
		{"code", "```go\nfunc main() {}\n```"},
		{"prose", "Use the <tool_call> tag."},
		{"nothing", "  \n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			prefix, calls, form, ok := Recognise(c.in, []string{"read_file", "execute", "write_file"})
			if ok || prefix != c.in || calls != nil || form != "" {
				t.Errorf("%v %q %+v %q", ok, prefix, calls, form)
			}
		})
	}
	if _, _, _, ok := Recognise(`{"name":"execute","arguments":{}}`, nil); ok {
		t.Error("a Call although no Tool was offered")
	}
}

// TestRecogniseReadsWhatTheTextProtocolWrites: the history of the text protocol is what its recogniser understands.
func TestRecogniseReadsWhatTheTextProtocolWrites(t *testing.T) {
	calls := []chat.Call{{Name: "read_file", Args: json.RawMessage("{\"path\":\"``` } <a>\\n\"}")}, {Name: "execute", Args: json.RawMessage(`{}`)}}
	for n := 1; n <= len(calls); n++ {
		prefix, got, form, ok := Recognise("text\n\n"+callFence(calls[:n]), []string{"read_file", "execute"})
		if !ok || prefix != "text" || form != FormFence || len(got) != n || string(got[0].Args) != string(calls[0].Args) {
			t.Errorf("%d: %v %q %q %+v", n, ok, prefix, form, got)
		}
	}
}

func TestToolNames(t *testing.T) {
	active := []string{"read_file", "Read_File", "run-it", "run_it", "list_files"}
	for name, want := range map[string]string{"read_file": "read_file", "Read_File": "Read_File", "READ_FILE": "", "run_it": "run_it",
		"Run_It": "", "LIST-FILES": "list_files", "list": "", "": ""} {
		if got, ok := matchName(name, active); ok != (want != "") || ok && got != want {
			t.Errorf("matchName(%q) = %q %v", name, got, ok)
		}
	}
}

// TestRecogniseIsNotSlow runs over texts that would take minutes if a place were tried per byte.
func TestRecogniseIsNotSlow(t *testing.T) {
	for _, unit := range []string{"{", "[", `{"name":`, `{"name":"execute","arguments":{`, "```", "<tool_call>", "[TOOL_CALLS]",
		"<parameter=a>", "<function=a>", `{"name":"execute","arguments":{}},`, `{"a":1,},`} {
		for _, end := range []string{"", "}", "```", "</tool_call>", "</function>", "]"} {
			Recognise(strings.Repeat(unit, 20_000/len(unit))+end, []string{"execute"})
		}
	}
}

func FuzzRecognise(f *testing.F) {
	f.Add("a ```json\n{\"name\":\"execute\",\"arguments\":{\"command\":\"ls\",}\n```")
	f.Add("<tool_call><function=execute><parameter=command>ls</parameter></function></tool_call>")
	f.Add(`[TOOL_CALLS]execute[ARGS]{"command":"\ud800"}`)
	f.Add(`{"function":{"name":"execute","arguments":"{\"command\":1}"}} {"tool":"execute","input":null},`)
	active := []string{"execute", "read_file"}
	f.Fuzz(func(t *testing.T, s string) {
		prefix, calls, form, ok := Recognise(s, active)
		if !ok {
			if prefix != s || calls != nil || form != "" {
				t.Fatal("a refused text was changed")
			}
			return
		}
		if !strings.HasPrefix(s, prefix) || len(calls) == 0 || form == "" {
			t.Fatalf("prefix %q calls %+v form %q", prefix, calls, form)
		}
		for _, c := range calls {
			if c.Name != "execute" && c.Name != "read_file" {
				t.Fatalf("the name %q was not offered", c.Name)
			}
			var object map[string]any
			if c.Args != nil && (json.Unmarshal(c.Args, &object) != nil || object == nil) {
				t.Fatalf("arguments %q are no object", c.Args)
			}
		}
	})
}

func FuzzCleanText(f *testing.F) {
	f.Add("<plan-mode>\r\n\r\n\r\n<|im_start|>\x00\xff")
	f.Add("<<plan-mode><| x|>")
	f.Fuzz(func(t *testing.T, s string) {
		got := cleanText(s)
		if again := cleanText(got); again != got {
			t.Fatalf("%q, then %q", got, again)
		}
		if strings.ContainsAny(got, "\x00\r\u200b\u202e") || strings.Contains(got, "\n\n\n") || strings.Contains(got, "<plan-mode") {
			t.Fatalf("%q", got)
		}
	})
}

func FuzzPlainJSON(f *testing.F) {
	f.Add(`{"a":"\u003c\\u003c\u0000 \ud83d\ude00"}`)
	f.Fuzz(func(t *testing.T, s string) {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := json.Unmarshal([]byte(plainJSON(string(raw))), &got); err != nil {
			t.Fatalf("%s: %v", plainJSON(string(raw)), err)
		}
		want := strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\u2400")
		if strings.ToValidUTF8(s, "") == s && got != want {
			t.Fatalf("%q became %q", want, got)
		}
	})
}
