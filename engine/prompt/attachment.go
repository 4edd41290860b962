package prompt

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// maxInlineFile is how much of an attached text file enters the prompt, in bytes.
const maxInlineFile = 128 << 10

// userPart gives a Part of a user Message as text, or as a base64 image beside it.
func (h *historyWriter) userPart(p *chat.Part) (text, image string) {
	switch p.Type {
	case chat.PartText:
		return cleanText(p.Text), ""
	case chat.PartFileReference:
		return labelled(referenceLabel(p), p.Content), ""
	case chat.PartFile:
		return h.file(p)
	}
	return "", ""
}

func referenceLabel(p *chat.Part) string {
	label := "File " + oneLine(p.FileName)
	switch {
	case p.StartLine > 0 && p.EndLine > p.StartLine:
		label += fmt.Sprintf(", lines %d to %d", p.StartLine, p.EndLine)
	case p.StartLine > 0:
		label += fmt.Sprintf(", line %d", p.StartLine)
	}
	return label + ":"
}

func (h *historyWriter) file(p *chat.Part) (text, image string) {
	name := oneLine(p.Name)
	data, ok := h.in.Files[p.FileID]
	if !ok {
		return chat.TextNoFile(name), ""
	}
	if strings.HasPrefix(p.MediaType, "image/") {
		if !has(h.in.Config.Capabilities, "vision") {
			return "[attached image: " + name + "; this model cannot see images]", ""
		}
		return "[attached image: " + name + "]", base64.StdEncoding.EncodeToString(data)
	}
	if !utf8.Valid(data) {
		return "[attached file: " + name + "; it is not text and cannot be shown]", ""
	}
	content, _, _ := CutResult(string(data), maxInlineFile, "")
	return labelled("File "+name+":", content), ""
}

// labelled puts content into a fence that it cannot close.
func labelled(label, content string) string {
	content = strings.TrimRight(cleanContent(content), "\n")
	if content == "" {
		return label + " (empty)"
	}
	fence := strings.Repeat("`", max(3, longestRun(content, '`')+1))
	return label + "\n" + fence + "\n" + content + "\n" + fence
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
