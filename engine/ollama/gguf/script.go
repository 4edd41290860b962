package gguf

// Script is one canned reply. Key is the newest user text and a mark per tool result since: "+", or "-" for an error.
type Script struct {
	Key string
	// Text is cut into tokens of a word or more; Parts are tokens as they stand.
	Text  string
	Parts []string
	// Loop leads the last token back to the first.
	Loop bool
}

// Fallback is the reply to a text without a script.
const Fallback = "I have no script for that."

// Keys that the Template makes of other messages than the newest user text: the engine's nudges, and the requests for a title.
const (
	KeyNudge = "[nudge]"
	KeyGoOn  = "[go on]"
	KeyTitle = "[title]"
)

func call(name, args string) string {
	return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + args + "}\n</tool_call>"
}

// Scripts are the replies that the product's end-to-end tests use. Each text of a call names a tool of the product.
func Scripts() []Script {
	return []Script{
		{Key: "say hello", Text: "Hello! I am a scripted model and I reply in several chunks."},
		{Key: "show markdown", Text: "# Scripted\n\nA **list**:\n\n- one\n- two\n\n```go\nfunc main() {}\n```\n\nThat is all."},

		{Key: "read hello.txt", Text: call("read_file", `{"path": "hello.txt"}`)},
		{Key: "read hello.txt+", Text: "I have read hello.txt and it is fine."},
		{Key: "read hello.txt-", Text: "The file hello.txt could not be read."},
		{Key: "look and read", Text: "I look around first. " + call("list_files", `{"path": "."}`)},
		{Key: "look and read+", Text: call("read_file", `{"path": "hello.txt", "limit": 10}`)},
		{Key: "look and read++", Text: "Two steps are finished."},
		{Key: "two calls", Text: call("read_file", `{"path": "hello.txt", "offset": 1}`) + "\n" + call("list_files", `{"path": ".", "depth": 1}`)},
		{Key: "two calls++", Text: "Both calls came back."},

		{Key: "run a command", Text: call("execute", `{"command": "echo scripted"}`)},
		{Key: "run a command+", Text: "The command ran."},
		{Key: "run a command-", Text: "The command did not run."},
		{Key: "run slowly", Text: call("execute", `{"command": "sleep 60", "timeout": "2m"}`)},
		{Key: "run slowly+", Text: "The slow command ended."},
		{Key: "edit hello.txt", Text: call("edit_files", `{"files": [{"path": "hello.txt", "edits": [{"search": "hello", "replace": "goodbye"}]}]}`)},
		{Key: "edit hello.txt+", Text: "I have changed hello.txt for you."},
		{Key: "edit hello.txt-", Text: "The edit of hello.txt was refused."},
		{Key: "write made.txt", Text: call("write_file", `{"path": "made.txt", "content": "made by a script\n"}`)},
		{Key: "write made.txt+", Text: "I have written made.txt."},
		{Key: "search", Text: call("search_files", `{"pattern": "hello", "kind": "content"}`)},
		{Key: "search+", Text: "The search is over."},

		{Key: "think", Text: "<think>The user wants a greeting.</think>Hi there, friend."},
		{Key: "think and read", Text: "<think>I need that file.</think>\n" + call("read_file", `{"path": "hello.txt", "offset": 2}`)},
		// The tag comes in one piece with the end of the thinking: the server leaves it in the text.
		{Key: "think and read at once", Parts: []string{"<think>Quick.", "</think><tool_call>", "\n{\"name\":  \"read_file\",", "  \"arguments\": {\"path\":", " \"b.txt\"}}", "\n</tool_call>\n"}},
		{Key: "think and read+", Text: "I thought, and then I read."},

		{Key: "loop forever", Text: "tick one, tock two, tick three, tock four. ", Loop: true},
		{Key: "repeat yourself", Parts: []string{"again "}, Loop: true},
		{Key: "same call forever", Text: call("list_files", `{"path": ".", "glob": "*.none"}`)},
		{Key: "same call forever+", Text: call("list_files", `{"path": ".", "glob": "*.none"} `)},
		{Key: "same call forever++", Text: call("list_files", `{"path": ".", "glob": "*.none"}  `)},
		{Key: "swallowed call", Text: call("no_such_tool", `{"reason": "this tool was never offered to anybody"}`)},
		{Key: "half a call", Text: "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"hel\n</tool_call>"},
		{Key: "call without arguments", Text: "<tool_call>\n{\"name\": \"process_list\"}\n</tool_call>"},
		{Key: "call as text", Text: "```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"hello.txt\"}}\n```"},
		{Key: "call as text+", Text: "The call in the text was understood."},
		{Key: "empty"},
		{Key: "emoji", Parts: []string{"ok ", "\xf0\x9f", "\x91\x8d", " done"}},
		{Key: "structured", Text: "{\"verdict\": \"allow\", \"score\": 3}"},

		{Key: KeyNudge, Text: "Then I answer in plain text."},
		{Key: KeyGoOn, Text: "This is the rest of it."},
		{Key: KeyTitle, Text: "{\"title\": \"A scripted title\"}"},
	}
}

// Template chooses the script. It prints the whole prompt too, so that counts and the window are real. "{{ if .ToolCalls }}" and
// "{{ if .Thinking }}" tell the server which tags the replies have; nothing else may stand in them.
const Template = `{{- $key := "" }}{{- $tools := "" -}}
{{- if .System }}<|im_start|>system
{{ .System }}<|im_end|>
{{ end }}
{{- if .Tools }}<|im_start|>tools
{{ range .Tools }}{{ json . }}
{{ end }}<|im_end|>
{{ end }}
{{- range .Messages }}
{{- if eq .Role "user" }}{{ $key = .Content }}{{ $tools = "" }}
{{- if and (ge (len .Content) 10) (eq (slice .Content 0 10) "Your last ") }}{{ $key = "` + KeyNudge + `" }}{{ end }}
{{- if and (ge (len .Content) 9) (eq (slice .Content 0 9) "You made ") }}{{ $key = "` + KeyNudge + `" }}{{ end }}
{{- if and (ge (len .Content) 60) (eq (slice .Content 0 60) "This is a request by the appliance, not by the person. Name ") }}{{ $key = "` + KeyTitle + `" }}{{ end }}
{{- if and (ge (len .Content) 14) (eq (slice .Content 0 14) "Your previous ") }}{{ $key = "` + KeyGoOn + `" }}{{ end -}}
<|im_start|>user
{{ .Content }}<|im_end|>
{{ else if eq .Role "assistant" }}<|im_start|>assistant
{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}{{ .Content }}{{ if .ToolCalls }}<tool_call>
{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
{{ end }}</tool_call>{{ end }}<|im_end|>
{{ else if eq .Role "tool" }}<|im_start|>tool
{{ .Content }}<|im_end|>
{{ if and (ge (len .Content) 8) (eq (slice .Content 0 8) "{\"error\"") }}{{ $tools = printf "%s-" $tools }}{{ else }}{{ $tools = printf "%s+" $tools }}{{ end }}{{ end }}
{{- end }}
{{- if and (ge (len .System) 9) (eq (slice .System 0 9) "You name ") }}{{ $key = "` + KeyTitle + `" }}{{ end }}<|im_start|>assistant
<|go:{{ $key }}{{ $tools }}|>`

// PlainTemplate has neither tools nor thinking: the server refuses both. It knows no results.
const PlainTemplate = `{{- $key := "" }}
{{- range .Messages }}
{{- if eq .Role "user" }}{{ $key = .Content }}{{ end }}<|im_start|>{{ .Role }}
{{ .Content }}<|im_end|>
{{ end }}<|im_start|>assistant
<|go:{{ $key }}|>`
