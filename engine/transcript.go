package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// TranscriptInput names a Chat. Files asks for the bytes of its files, too.
type TranscriptInput struct {
	ChatID chat.ID
	Files  bool
}

// Transcript is all that a person may see of a Chat, and the system prompt that was given with it.
type Transcript struct {
	Chat         *chat.Chat
	SystemPrompt string
	// Messages name a file of Files by its hash, and one without bytes not at all. Unanswered stands with the Result of a compaction's card.
	Messages []*chat.Message
	Files    []TranscriptFile
}

// Transcript reads a whole Chat.
func (e *Engine) Transcript(ctx context.Context, _ chat.Principal, in TranscriptInput) (Transcript, error) {
	var out Transcript
	var files []kv.ChatFile
	err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
		out = Transcript{}
		if out.Chat, err = mustChat(tx, in.ChatID); err != nil {
			return err
		}
		all, err := tx.Messages(in.ChatID, kv.MessageQuery{})
		if err != nil {
			return err
		}
		out.read(all)
		files, err = tx.ChatFiles(in.ChatID)
		return err
	})
	if err != nil {
		return out, err
	}
	out.SystemPrompt = e.clean(out.SystemPrompt)
	for _, m := range out.Messages {
		for i := range m.Content {
			e.cleanPart(&m.Content[i])
		}
	}
	return out, e.transcriptFiles(&out, files, in.Files)
}

// read takes what belongs into a Transcript.
func (t *Transcript) read(all []*chat.Message) {
	var unanswered []chat.MessageID
	for _, m := range all {
		if m.Boundary == chat.BoundarySummary {
			unanswered = m.Unanswered
		}
		if m.Role == chat.RoleSystem && m.Visibility == chat.VisibleModel {
			for _, p := range m.Content {
				if p.Name == prompt.KindChat {
					t.SystemPrompt = p.Text
				}
			}
		}
		if !shownToPeople(m) {
			continue
		}
		if cardResult(m) != nil {
			m.Unanswered, unanswered = unanswered, nil
		}
		t.Messages = append(t.Messages, m)
	}
}

// Bounds of an import.
const (
	maxImported      = 20_000
	maxImportedParts = 1_000
	maxImportedText  = 16 << 20
	maxName          = 256
)

// ImportInput is a Chat from elsewhere. Ids of Messages, files and people in it count for nothing.
type ImportInput struct {
	Title           string
	Labels          map[string]string
	ReasoningEffort string
	SystemPrompt    string
	// Messages name their files by hash. Unanswered, of the Result of a compaction's card, counts Messages from 0.
	Messages []chat.Message
	Files    []TranscriptFile
	Keyed
}

// Import makes a Chat at rest from a Transcript. Nothing in it is believed: what does not hold is refused with its field.
func (e *Engine) Import(ctx context.Context, p chat.Principal, in ImportInput) (*chat.Chat, error) {
	title := strings.TrimSpace(valid(in.Title))
	switch {
	case title == "" || utf8.RuneCountInString(title) > 200:
		return nil, chat.Invalid("title", "It must have 1 to 200 characters.")
	case len(in.Labels) > 50:
		return nil, chat.Invalid("labels", "At most 50 labels.")
	case len(in.SystemPrompt) > maxText:
		return nil, chat.Invalid("system_prompt", "It must not be larger than 1 MiB.")
	case len(in.Messages) == 0 || len(in.Messages) > maxImported:
		return nil, chat.Invalid("messages", fmt.Sprintf("There must be 1 to %d.", maxImported))
	}
	imported := importer{user: p.UserID, at: e.now().UTC(), named: map[string]*chat.File{}}
	if err := imported.files(in.Files); err != nil {
		return nil, err
	}
	c := chat.Chat{Title: title, Labels: maps.Clone(in.Labels), ReasoningEffort: in.ReasoningEffort}
	var all []*chat.Message
	if strings.TrimSpace(in.SystemPrompt) != "" {
		all = append(all, &chat.Message{CreatedAt: e.now().UTC(), Role: chat.RoleSystem, Visibility: chat.VisibleModel, ContentVersion: 1,
			Content: []chat.Part{{Type: chat.PartText, Name: prompt.KindChat, Text: valid(in.SystemPrompt)}}})
	}
	for i := range in.Messages {
		field := fmt.Sprintf("messages[%d]", i)
		m, err := imported.message(field, &in.Messages[i])
		if err != nil {
			return nil, err
		}
		m.ID = chat.MessageID(i + 1)
		summary, err := imported.summary(field, in.Messages[:i+1], all)
		if err != nil {
			return nil, err
		}
		if summary != nil {
			all = slices.Insert(all, len(all)-1, summary)
		}
		all = append(all, m)
	}
	files, err := e.importFiles(ctx, &imported, in.Files)
	if err != nil {
		return nil, err
	}
	return e.createGiven(ctx, p, given{kind: chat.Import, chat: c, messages: all, files: files, key: in.Keyed, body: in})
}

// importer takes Messages one after the other and makes new ones of what it knows of them.
type importer struct {
	user chat.UserID
	at   time.Time
	step int64
	// kinds are the media types of the files by hash, named the Files made of them by hash and name.
	kinds map[string]string
	named map[string]*chat.File
	// open are the Calls that may still get a Result.
	open map[string]bool
}

func (x *importer) message(field string, m *chat.Message) (*chat.Message, error) {
	out := &chat.Message{Role: m.Role, CreatedAt: m.CreatedAt.UTC(), Partial: m.Partial, FinishReason: m.FinishReason, Usage: m.Usage,
		CostMicros: m.CostMicros, RuntimeMS: m.RuntimeMS, ContentVersion: 1, Content: []chat.Part{}}
	if at := out.CreatedAt; at.Before(time.Unix(0, 0)) || at.Year() > 9999 {
		return nil, chat.Invalid(field+".created_at", "It must be a time after 1970.")
	}
	if err := importedFacts(field, m); err != nil {
		return nil, err
	}
	switch m.Role {
	case chat.RoleSystem:
		if m.Boundary != chat.BoundaryClear || len(m.Content) > 0 {
			return nil, chat.Invalid(field+".role", "A system message can only mark where the context was cleared.")
		}
		out.Boundary, out.Visibility = chat.BoundaryClear, chat.VisibleUser
		return out, nil
	case chat.RoleUser:
		out.CreatedBy = x.user
	case chat.RoleAssistant:
		x.step++
		x.open = map[string]bool{}
	case chat.RoleTool:
		if len(m.Content) != 1 {
			return nil, chat.Invalid(field+".content", "A tool message holds one result.")
		}
	default:
		return nil, chat.Invalid(field+".role", "It must be user, assistant, tool or system.")
	}
	if m.Boundary != "" {
		return nil, chat.Invalid(field+".boundary", "Only a system message is a boundary.")
	}
	if len(m.Content) == 0 || len(m.Content) > maxImportedParts {
		return nil, chat.Invalid(field+".content", fmt.Sprintf("A message has 1 to %d parts.", maxImportedParts))
	}
	if m.Role != chat.RoleUser {
		out.Step = x.step
	}
	for i := range m.Content {
		p, err := x.part(fmt.Sprintf("%s.content[%d]", field, i), m.Role, &m.Content[i])
		if err != nil {
			return nil, err
		}
		if p.ToolName == chat.SummaryTool {
			// The card of a compaction was never part of what the model sees.
			out.Visibility, out.Compressed = chat.VisibleUser, true
		}
		out.Content = append(out.Content, p)
	}
	return out, nil
}

func importedFacts(field string, m *chat.Message) error {
	if len(m.FinishReason) > maxName {
		return chat.Invalid(field+".finish_reason", "It is too long.")
	}
	numbers := map[string]*int64{"total_cost_micros": m.CostMicros, "runtime_ms": m.RuntimeMS}
	if u := m.Usage; u != nil {
		numbers["usage.input_tokens"], numbers["usage.output_tokens"], numbers["usage.total_tokens"] = u.InputTokens, u.OutputTokens, u.TotalTokens
		numbers["usage.reasoning_tokens"], numbers["usage.cache_read_tokens"], numbers["usage.context_limit"] = u.ReasoningTokens, u.CacheReadTokens,
			u.ContextLimit
	}
	for name, n := range numbers {
		if n != nil && (*n < 0 || *n > 1<<53) {
			return chat.Invalid(field+"."+name, "It must be a count from 0 to 2^53.")
		}
	}
	return nil
}

// importedTypes says who may have which Parts.
var importedTypes = map[chat.Role][]chat.PartType{
	chat.RoleUser: {chat.PartText, chat.PartFile, chat.PartFileReference, chat.PartContextFile, chat.PartSkill},
	chat.RoleAssistant: {chat.PartText, chat.PartReasoning, chat.PartToolCall, chat.PartToolResult, chat.PartSource, chat.PartFile,
		chat.PartContextFile, chat.PartSkill},
	chat.RoleTool: {chat.PartToolResult},
}
