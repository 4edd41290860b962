package prompt

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func TestAnnounced(t *testing.T) {
	for _, text := range []string{
		"I will now read the file.",
		"I'll read main.go to see what it does:",
		"The test fails because of a typo.\n\nLet me fix the typo…",
		"Okay, I will search for the function.",
		"First, let me look at the directory structure.",
		"There are two places. Next I'm going to update both.",
		"1. Read the file\n2. **I will run the tests.**",
		"Sure! Let me check the files in your project.",
		"I’ll start by exploring the code.",
	} {
		if !Announced(text) {
			t.Errorf("not seen: %q", text)
		}
	}
	for _, text := range []string{
		"",
		"I have read the file. It is empty.",
		"Let me know if you want me to read the file.",
		"If you agree, I will run the tests.",
		"I will run the tests once you have saved the file.",
		"Shall I run the tests?",
		"I will read the file.\n\nThe file says hello.",
		"You will need to run the tests.",
		"I'll be here when you need me.",
		"Do this:\n```\nlet me read\n```",
		"The change is done; it will read the file at start.",
		strings.Repeat("A long explanation of the code. ", 40) + "I will read the file.",
	} {
		if Announced(text) {
			t.Errorf("wrongly seen: %q", text)
		}
	}
}

func TestUnread(t *testing.T) {
	for _, text := range []string{
		"```json\n{\"name\": \"read_fil\", \"arguments\": {\"path\": \"a\"}}\n```",
		"I read it.\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\" \"b\"}}\n```",
		"<tool_call>\n{\"nam\": 1}\n</tool_call>",
		"Now: <function=read_fil>{\"path\":\"a\"}</function>",
		"{\"name\": \"nothing\", \"arguments\": {}}",
		"[TOOL_CALLS][{\"name\": \"x\"}]",
	} {
		if !Unread(text) {
			t.Errorf("not seen: %q", text)
		}
	}
	for _, text := range []string{
		"", "done", "The file holds {\"a\": 1}", "```go\nfunc main() {}\n```",
		"A call looks so:\n```json\n{\"name\": \"x\"}\n```\nand the config so:\n```yaml\na: [1]\n```",
		"```json\n{\"name\": \"x\", \"arguments\": {}}\n```\nThat was an example.",
		"use <b>this</b>",
	} {
		if Unread(text) {
			t.Errorf("wrongly seen: %q", text)
		}
	}
}

func TestFitTools(t *testing.T) {
	defs := make([]chat.ToolDef, 10)
	for i := range defs {
		defs[i] = chat.ToolDef{Name: string(rune('a' + i)), Description: strings.Repeat("x", 483), Schema: json.RawMessage("{}")[:0]}
	}
	for window, want := range map[int]int{499: 0, 500: 1, 4096: 8, 5000: 10, 32768: 10} {
		if got := len(FitTools(defs, window)); got != want {
			t.Errorf("a window of %d holds %d, want %d", window, got, want)
		}
	}
}
