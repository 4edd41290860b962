package engine

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// FinishLost is the finish reason of a note in a salvaged Transcript that stands where something could not be read.
const FinishLost = "lost"

// Salvager makes Transcripts of what was read of a damaged store.
type Salvager struct {
	// Open opens a kept file by its hash.
	Open func(sha256hex string) (io.ReadCloser, error)
	// Clean takes secrets out of a text.
	Clean func(string) string
	// Bare leaves the bytes of files out.
	Bare bool
}

// Transcript gives what can be read of a Chat, and all that cannot: nothing when the Chat is whole. What is missing is said in a note at its
// place and in the title. Bytes beyond what an import takes are left out, which left says; they are not lost.
func (s Salvager) Transcript(c kv.SalvagedChat) (t Transcript, lost []kv.Damage, left bool) {
	own := *c.Chat
	t.Chat = &own
	t.read(c.Messages)
	unread, left := s.bytes(&t, c.Files)
	lost = append(slices.Clone(c.Lost), unread...)
	slices.SortStableFunc(lost, func(a, b kv.Damage) int { return cmp.Compare(a.Message, b.Message) })
	if own.Title == "" {
		own.Title = "Chat " + string(own.ID)
	}
	if len(lost) > 0 {
		own.Title = shortened(own.Title, 180) + " (not whole)"
	}
	t.SystemPrompt = s.Clean(t.SystemPrompt)
	t.Messages = noted(t.Messages, lost, own.CreatedAt)
	for _, m := range t.Messages {
		for i := range m.Content {
			cleanPart(s.Clean, &m.Content[i])
		}
	}
	return t, lost, left
}

func shortened(text string, runes int) string {
	if r := []rune(text); len(r) > runes {
		return string(r[:runes])
	}
	return text
}

// noted puts a note where something is missing, and in the place of Results whose Calls are missing: they answer nothing any more.
func noted(all []*chat.Message, lost []kv.Damage, at time.Time) []*chat.Message {
	var out []*chat.Message
	if at.Before(time.Unix(0, 0)) {
		at = time.Unix(0, 0).UTC()
	}
	note := func(text string) {
		out = append(out, &chat.Message{Role: chat.RoleUser, CreatedAt: at, FinishReason: FinishLost, ContentVersion: 1,
			Content: []chat.Part{{Type: chat.PartText, Text: text}}})
	}
	open := map[string]bool{}
	for _, m := range all {
		for len(lost) > 0 && lost[0].Message <= m.ID {
			note(lostNote(lost[0]))
			lost = lost[1:]
		}
		at = m.CreatedAt
		if m.Role == chat.RoleAssistant {
			open = map[string]bool{}
		}
		if m.Role == chat.RoleTool && len(m.Content) == 1 && !follows(out, open, &m.Content[0]) {
			p := m.Content[0]
			note(fmt.Sprintf("[Salvaged: a result of %s, whose call could not be read.]\n\n%s", p.ToolName, p.Result))
			continue
		}
		for _, p := range m.Content {
			switch p.Type {
			case chat.PartToolCall:
				open[p.CallID] = true
			case chat.PartToolResult:
				delete(open, p.CallID)
			}
		}
		out = append(out, m)
	}
	for _, d := range lost {
		note(lostNote(d))
	}
	return out
}

// follows says whether a Result can stand behind what is there: its Call is open, and that of a summary stands right before it.
func follows(before []*chat.Message, open map[string]bool, p *chat.Part) bool {
	if !open[p.CallID] || p.ToolName != chat.SummaryTool {
		return open[p.CallID]
	}
	return slices.ContainsFunc(before[len(before)-1].Content, func(c chat.Part) bool { return c.Type == chat.PartToolCall && c.CallID == p.CallID })
}

func lostNote(d kv.Damage) string {
	what := d.Noun
	if d.Message > 0 {
		what = fmt.Sprintf("%s %d", d.Noun, d.Message)
		if d.Noun == "file" {
			what = fmt.Sprintf("a file of message %d", d.Message)
		}
	}
	return "[Salvaged from a damaged store; something is missing here: " + what + ": " + d.Reason + ".]"
}

// bytes names the files of a Transcript by their hashes and reads them, as transcriptFiles does, and gives those that cannot be read.
func (s Salvager) bytes(t *Transcript, files []kv.ChatFile) (lost []kv.Damage, left bool) {
	kept := map[string]kv.ChatFile{}
	size := int64(0)
	for _, f := range files {
		if !f.Gone() {
			kept[string(f.ID)], size = f, size+f.Size
		}
	}
	left = size > maxTranscriptFiles && !s.Bare
	read := map[string]bool{}
	for _, m := range t.Messages {
		for i := range m.Content {
			p := &m.Content[i]
			f, there := kept[p.FileID]
			if p.FileID = ""; !there || left || s.Bare {
				continue
			}
			whole, seen := read[f.SHA256]
			if !seen {
				data, err := s.readFile(f.SHA256)
				if whole = err == nil; whole {
					t.Files = append(t.Files, TranscriptFile{SHA256: f.SHA256, Data: data})
				} else {
					lost = append(lost, kv.Damage{Noun: "file", Chat: m.ChatID, Message: m.ID, Key: f.SHA256, Reason: fmt.Sprintf("%q cannot be read: %v", p.Name, err)})
				}
				read[f.SHA256] = whole
			}
			if whole {
				p.FileID = f.SHA256
			}
		}
	}
	return lost, left
}

func (s Salvager) readFile(sum string) (data []byte, err error) {
	r, err := s.Open(sum)
	if err != nil {
		return nil, err
	}
	data, err = io.ReadAll(r)
	if e := r.Close(); err == nil {
		err = e
	}
	return data, err
}
