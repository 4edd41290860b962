package prompt

import (
	"bytes"
	"encoding/json"
	"strings"

	"holdfast/engine/chat"
)

// toolsTitle begins the section about Tools that a model calls in its text.
const toolsTitle = "# Calling tools\n"

// IsTools says whether a section is the one about Tools that a model calls in its text.
func IsTools(section string) bool { return strings.HasPrefix(section, toolsTitle) }

const textToolsHead = toolsTitle +
	"You call a tool by ending your reply with one fenced JSON object, with nothing after it:\n" +
	"```json\n{\"name\": \"tool_name\", \"arguments\": {}}\n```\n" +
	"For several independent calls write a JSON array of such objects. The results come in the next message, which begins with " +
	"\"Result of\"; never write it yourself. To answer without a tool, write plain text. The tools, with the JSON Schema of their " +
	"arguments:"

// toolsAsText writes tool definitions for models whose template has none.
func toolsAsText(head string, tools []chat.ToolDef) string {
	if len(tools) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(head)
	for _, t := range tools {
		b.WriteString("\n\n## " + t.Name + "\n" + t.Description + "\n" + compactJSON(t.Schema))
	}
	return b.String()
}

// callFence writes Calls as a model of the text protocol writes them.
func callFence(calls []chat.Call) string {
	objects := make([]string, len(calls))
	for i, c := range calls {
		objects[i] = `{"name": ` + quoted(c.Name) + `, "arguments": ` + compactJSON(callArgs(c.Args)) + `}`
	}
	text := objects[0]
	if len(objects) > 1 {
		text = "[" + strings.Join(objects, ",\n") + "]"
	}
	return "```json\n" + text + "\n```"
}

func compactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return "{}"
	}
	return b.String()
}

// quoted gives a JSON string without the escapes that encoding/json adds for HTML.
func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
