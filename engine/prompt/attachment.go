package prompt

import (
	"encoding/base64"
	"fmt"
	"strings"

	"holdfast/engine/chat"
)

// MaxInline is how much of an attached text enters the prompt, in bytes.
const MaxInline = 128 << 10

// Attached is what a request may have of a File: its text, or its bytes in base64 for a model that sees.
type Attached struct{ Text, Image string }

// Sees says whether images go to a model: its server must have said that it can see. Few servers of the OpenAI protocol say what a model can,
// so there the capability test decides too.
func Sees(cfg chat.ModelConfig) bool {
	return has(cfg.Capabilities, "vision") || cfg.Provider == chat.ProviderOpenAI && cfg.Probe.Found(chat.FindVision).State == chat.FoundYes
}

// ModelPicture says whether models can be shown images of this media type.
func ModelPicture(mediaType string) bool {
	return mediaType == "image/png" || mediaType == "image/jpeg" || mediaType == "image/webp"
}

// Wants says whether a request to this model has anything of a File but its name.
func Wants(cfg chat.ModelConfig, mediaType string) bool {
	return chat.IsText(mediaType) || ModelPicture(mediaType) && Sees(cfg)
}

// Attach makes of a File's bytes what a request has of it. A long text is cut as a Result is.
func Attach(mediaType string, data []byte) Attached {
	if chat.IsPicture(mediaType) {
		return Attached{Image: base64.StdEncoding.EncodeToString(data)}
	}
	text, _, _ := CutResult(strings.ToValidUTF8(string(data), "\uFFFD"), MaxInline, "")
	return Attached{Text: text}
}

// Attachments gives the Parts with Files of the Messages that the prompt has, those of the newest Message first.
func Attachments(in Input) []chat.Part {
	var out []chat.Part
	msgs := inPrompt(in)
	for i := len(msgs) - 1; i >= 0; i-- {
		for _, p := range msgs[i].Content {
			if p.Type == chat.PartFile || p.Type == chat.PartToolResult && p.FileID != "" {
				out = append(out, p)
			}
		}
	}
	return out
}

// userPart gives a Part of a user Message as text, or as a base64 image beside it.
func (h *historyWriter) userPart(p *chat.Part) (text, image string) {
	switch p.Type {
	case chat.PartText:
		return cleanText(p.Text), ""
	case chat.PartFileReference:
		return labelled(referenceLabel(p), p.Content), ""
	case chat.PartFile:
		return h.file(p)
	case chat.PartContextFile:
		return nestedText(p), ""
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
	a, ok := h.in.Files[p.FileID]
	switch {
	case !ok:
		return chat.TextNoFile(name), ""
	case chat.IsPicture(p.MediaType) && !Sees(h.in.Config):
		return "[attached image: " + name + "; this model cannot see images]", ""
	case chat.IsPicture(p.MediaType) && !ModelPicture(p.MediaType):
		return "[attached image: " + name + "; images of this kind cannot be shown]", ""
	case chat.IsPicture(p.MediaType) && a.Image == "":
		return "[attached image: " + name + "; left out, since newer images take all the room of a request]", ""
	case chat.IsPicture(p.MediaType):
		return "[attached image: " + name + "]", a.Image
	case !chat.IsText(p.MediaType):
		return "[attached file: " + name + "; it is not text and cannot be shown]", ""
	}
	return labelled("File "+name+":", a.Text), ""
}

// media gives the image of a Result, or why the model has it not. What is no image is told in the Result itself.
func (h *historyWriter) media(p *chat.Part) (note, image string) {
	if p.FileID == "" || !chat.IsPicture(p.MediaType) {
		return "", ""
	}
	a, ok := h.in.Files[p.FileID]
	switch {
	case !Sees(h.in.Config) || !ModelPicture(p.MediaType):
		return chat.TextUnseen, ""
	case !ok:
		return chat.TextNoImage, ""
	case a.Image == "":
		return chat.TextNoRoom, ""
	}
	return "", a.Image
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
