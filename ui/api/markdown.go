package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
)

// writeMarkdown writes a transcript for people: what was asked, what was answered, and each call with what came of it.
func writeMarkdown(b *bytes.Buffer, t engine.Transcript) {
	fmt.Fprintf(b, "# %s\n\n", oneLine(t.Chat.Title))
	fmt.Fprintf(b, "Begun %s.\n", stamp(t.Chat.CreatedAt))
	if t.SystemPrompt != "" {
		b.WriteString("\n## System prompt\n\n")
		fenced(b, "", t.SystemPrompt)
	}
	answering := false
	for _, m := range t.Messages {
		switch {
		case m.Boundary == chat.BoundaryClear:
			b.WriteString("\n---\n\n*The context was cleared here: the model sees nothing above.*\n")
			answering = false
			continue
		case m.FinishReason == engine.FinishLost:
			fmt.Fprintf(b, "\n---\n")
			answering = false
		case m.Role == chat.RoleUser:
			fmt.Fprintf(b, "\n## You, %s\n", stamp(m.CreatedAt))
			answering = false
		case m.Role == chat.RoleAssistant && !answering:
			fmt.Fprintf(b, "\n## Model, %s\n", stamp(m.CreatedAt))
			answering = true
		}
		for i := range m.Content {
			writePart(b, &m.Content[i])
		}
		if m.Partial {
			b.WriteString("\n*Cut here: this reply is not whole.*\n")
		}
	}
}

func writePart(b *bytes.Buffer, p *chat.Part) {
	switch p.Type {
	case chat.PartText:
		if text := strings.TrimSpace(p.Text); text != "" {
			b.WriteString("\n" + text + "\n")
		}
	case chat.PartReasoning:
		if text := strings.TrimSpace(p.Text); text != "" {
			b.WriteString("\n> " + strings.ReplaceAll(text, "\n", "\n> ") + "\n")
		}
	case chat.PartToolCall:
		fmt.Fprintf(b, "\n**%s**\n\n", oneLine(p.ToolName))
		fenced(b, "json", pretty(p.Args))
	case chat.PartToolResult:
		word := "Result"
		if p.IsError {
			word = "Failed"
		}
		fmt.Fprintf(b, "\n%s of **%s**:\n\n", word, oneLine(p.ToolName))
		fenced(b, "json", pretty(p.Result))
		if p.Name != "" {
			fmt.Fprintf(b, "\nFile: %s\n", oneLine(p.Name))
		}
	case chat.PartFile:
		fmt.Fprintf(b, "\nFile: %s\n", oneLine(p.Name))
	case chat.PartFileReference:
		fmt.Fprintf(b, "\n%s, lines %d to %d:\n\n", oneLine(p.FileName), p.StartLine, p.EndLine)
		fenced(b, "", p.Content)
	case chat.PartContextFile:
		fmt.Fprintf(b, "\nInstructions: %s\n", oneLine(p.Path))
	case chat.PartSkill:
		fmt.Fprintf(b, "\nSkill: %s\n", oneLine(p.Name))
	case chat.PartSource:
		fmt.Fprintf(b, "\nSource: %s %s\n", oneLine(p.Title), oneLine(p.URL))
	}
}

// fenced writes a block whose fence is longer than any in it, so that it ends where we end it.
func fenced(b *bytes.Buffer, language, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	b.WriteString(fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n")
}

func pretty(raw json.RawMessage) string {
	var out bytes.Buffer
	if len(raw) == 0 || json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func stamp(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }
