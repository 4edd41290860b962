package engine

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// Bounds of one user Message.
const (
	maxParts = 100
	maxText  = 1 << 20
)

// checkContent validates the Parts of a user Message and gives them as they are stored: unknown fields gone, bad UTF-8 replaced.
func checkContent(parts []chat.Part) ([]chat.Part, error) {
	if len(parts) == 0 || len(parts) > maxParts {
		return nil, chat.Invalid("content", "A message has 1 to "+strconv.Itoa(maxParts)+" parts.")
	}
	out := make([]chat.Part, 0, len(parts))
	size, files, said := 0, 0, false
	for i, p := range parts {
		field := "content[" + strconv.Itoa(i) + "]"
		switch p.Type {
		case chat.PartText:
			text := valid(p.Text)
			said = said || strings.TrimSpace(text) != ""
			size += len(text)
			out = append(out, chat.Part{Type: chat.PartText, Text: text})
		case chat.PartFileReference:
			if p.FileName == "" || p.StartLine < 0 || p.EndLine < p.StartLine {
				return nil, chat.Invalid(field, "A file reference has a file_name, and an end_line that is not before its start_line.")
			}
			size += len(p.Content)
			said = true
			out = append(out, chat.Part{Type: chat.PartFileReference, FileName: valid(p.FileName), StartLine: p.StartLine,
				EndLine: p.EndLine, Content: valid(p.Content)})
		case chat.PartFile:
			if !isID(chat.FileID(p.FileID)) {
				return nil, chat.Invalid(field+".file_id", "There is no such file.")
			}
			if files++; files > chat.MaxMessageFiles {
				return nil, chat.Invalid("content", "A message has at most "+strconv.Itoa(chat.MaxMessageFiles)+" files.")
			}
			said = true
			// Name and media type come from the File's record.
			out = append(out, chat.Part{Type: chat.PartFile, FileID: p.FileID})
		default:
			return nil, chat.Invalid(field+".type", "It must be text, file or file-reference.")
		}
	}
	if !said {
		return nil, chat.Invalid("content", "Write something first.")
	}
	if size > maxText {
		return nil, &chat.Error{Kind: chat.KindTooLarge, Message: "The message is larger than 1 MiB.", Detail: "Put the text into a file of the workspace."}
	}
	return out, nil
}

func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// TextParts makes the content of a Message that is only text.
func TextParts(text string) []chat.Part { return []chat.Part{{Type: chat.PartText, Text: text}} }
