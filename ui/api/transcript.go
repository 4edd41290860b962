package api

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
	"holdfast/ui/gate"
)

// transcriptBody is how large a file to import may be.
const transcriptBody = 64 << 20

func (a *API) transcriptEndpoints() []endpoint {
	return []endpoint{
		{method: http.MethodPost, path: "/chats/{id}/fork", summary: "Copy the history up to a message, or all of it, into a new chat at rest.", keyed: true,
			in: client.ChatFork{}, handler: answer(a, http.StatusCreated, a.fork), out: map[int]any{http.StatusCreated: client.Chat{}}},
		{method: http.MethodGet, path: "/chats/{id}/export", summary: "The whole transcript as a file: JSON that can be imported, or Markdown to read.",
			query: []parameter{{name: "format", describes: "json, or markdown."},
				{name: "files", describes: "false leaves the bytes of files out of JSON."}},
			handler: http.HandlerFunc(a.export), out: map[int]any{http.StatusOK: client.TranscriptFile{}}, asText: "text/markdown"},
		{method: http.MethodPost, path: "/chats/import", summary: "Make a chat at rest of an exported file.", keyed: true, maxBody: transcriptBody,
			in: client.TranscriptFile{}, handler: answer(a, http.StatusCreated, a.importChat), out: map[int]any{http.StatusCreated: client.Chat{}}},
	}
}

func (a *API) fork(q *request, in client.ChatFork) (client.Chat, error) {
	if in.Message < 0 {
		return client.Chat{}, chat.Invalid("message_id", "must be the id of a message")
	}
	c, err := a.o.Chats.Fork(q.ctx(), q.who, engine.ForkInput{ChatID: q.chat(), Message: in.Message, Keyed: q.keyed()})
	return acted(q, c, err)
}

// export answers with a file.
func (a *API) export(w http.ResponseWriter, r *http.Request) {
	format := r.URL.Query().Get("format")
	if format != client.ExportJSON && format != client.ExportMarkdown {
		gate.WriteError(w, r, chat.Invalid("format", "must be markdown or json"))
		return
	}
	files := r.URL.Query().Get("files")
	if files != "" && files != "true" && files != "false" {
		gate.WriteError(w, r, chat.Invalid("files", "must be true or false"))
		return
	}
	t, err := a.o.Chats.Transcript(r.Context(), gate.Principal(r.Context()), engine.TranscriptInput{ChatID: chat.ID(r.PathValue("id")),
		Files: format == client.ExportJSON && files != "false"})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	var b bytes.Buffer
	media, ending := "application/json", ".json"
	if format == client.ExportMarkdown {
		media, ending = "text/markdown; charset=utf-8", ".md"
	}
	if err := WriteTranscript(&b, t, format, time.Now()); err != nil {
		gate.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Disposition", `attachment; filename="`+exportName(t.Chat.Title)+ending+`"`)
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	if _, err := b.WriteTo(w); err != nil {
		a.left(r.Context(), err)
	}
}

// WriteTranscript writes a Transcript in a format of client.Export.
func WriteTranscript(b *bytes.Buffer, t engine.Transcript, format string, now time.Time) error {
	if format == client.ExportMarkdown {
		writeMarkdown(b, t)
		return nil
	}
	e := newEncoder(b)
	e.SetIndent("", " ")
	return e.Encode(fileOf(t, now))
}

// exportName makes a name that every system takes of a title.
func exportName(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == 60 {
			break
		}
	}
	if name := strings.Trim(b.String(), "-"); name != "" {
		return name
	}
	return "chat"
}

func fileOf(t engine.Transcript, now time.Time) client.TranscriptFile {
	out := client.TranscriptFile{Format: client.TranscriptFormat, Version: client.TranscriptVersion, ExportedAt: client.At(now), Title: t.Chat.Title,
		Labels: t.Chat.Labels, ReasoningEffort: t.Chat.ReasoningEffort, SystemPrompt: t.SystemPrompt,
		Messages: make([]client.TranscriptMessage, 0, len(t.Messages))}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	places := make(map[chat.MessageID]int, len(t.Messages))
	for i, m := range t.Messages {
		places[m.ID] = i
		s := shownMessage(m)
		var unanswered []int
		for _, id := range m.Unanswered {
			if place, there := places[id]; there {
				unanswered = append(unanswered, place)
			}
		}
		out.Messages = append(out.Messages, client.TranscriptMessage{Role: s.Role, Content: s.Content, CreatedAt: s.CreatedAt, Partial: s.Partial,
			FinishReason: s.FinishReason, Usage: s.Usage, CostMicros: s.CostMicros, RuntimeMS: s.RuntimeMS, Boundary: s.Boundary,
			Unanswered: unanswered})
	}
	for _, f := range t.Files {
		out.Files = append(out.Files, client.TranscriptBytes{SHA256: f.SHA256, Data: base64.StdEncoding.EncodeToString(f.Data)})
	}
	return out
}

func (a *API) importChat(q *request, in client.TranscriptFile) (client.Chat, error) {
	if in.Format != client.TranscriptFormat {
		return client.Chat{}, chat.Invalid("format", "must be "+client.TranscriptFormat)
	}
	if in.Version != client.TranscriptVersion {
		return client.Chat{}, chat.Invalid("version", "must be "+strconv.Itoa(client.TranscriptVersion)+"; another version of Holdfast made this file")
	}
	if err := checkEffort(in.ReasoningEffort); err != nil {
		return client.Chat{}, err
	}
	files, err := bytesOf(in.Files)
	if err != nil {
		return client.Chat{}, err
	}
	messages := make([]chat.Message, 0, len(in.Messages))
	for _, m := range in.Messages {
		taken := chat.Message{Role: m.Role, Content: storedParts(m.Content), CreatedAt: m.CreatedAt.Time, Partial: m.Partial, FinishReason: m.FinishReason,
			CostMicros: m.CostMicros, RuntimeMS: m.RuntimeMS, Boundary: m.Boundary}
		for _, place := range m.Unanswered {
			taken.Unanswered = append(taken.Unanswered, chat.MessageID(place))
		}
		if u := m.Usage; u != nil {
			taken.Usage = &chat.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, TotalTokens: u.TotalTokens,
				ReasoningTokens: u.ReasoningTokens, CacheReadTokens: u.CacheReadTokens, ContextLimit: u.ContextLimit}
		}
		messages = append(messages, taken)
	}
	c, err := a.o.Chats.Import(q.ctx(), q.who, engine.ImportInput{Title: in.Title, Labels: in.Labels, ReasoningEffort: in.ReasoningEffort,
		SystemPrompt: in.SystemPrompt, Messages: messages, Files: files, Keyed: q.keyed()})
	return acted(q, c, err)
}

// bytesOf decodes the files, of which there are not too many.
func bytesOf(in []client.TranscriptBytes) ([]engine.TranscriptFile, error) {
	if len(in) > chat.MaxChatFiles {
		return nil, chat.Invalid("files", fmt.Sprintf("must be at most %d", chat.MaxChatFiles))
	}
	out := make([]engine.TranscriptFile, len(in))
	for i, f := range in {
		data, err := base64.StdEncoding.DecodeString(f.Data)
		if err != nil {
			return nil, chat.Invalid(fmt.Sprintf("files[%d].data", i), "must be base64")
		}
		out[i] = engine.TranscriptFile{SHA256: f.SHA256, Data: data}
	}
	return out, nil
}

// storedParts is the way back of shownParts, for the engine, which believes none of it.
func storedParts(in []client.Part) []chat.Part {
	out := make([]chat.Part, 0, len(in))
	for _, p := range in {
		out = append(out, chat.Part{Type: p.Type, Text: p.Text, CallID: p.CallID, ToolName: p.ToolName, Args: p.Args, Repaired: p.Repaired,
			ProviderExecuted: p.ProviderExecuted, Result: p.Result, IsError: p.IsError, Truncated: p.Truncated, FullBytes: p.FullBytes,
			CreatedAt: timeOrNil(p.CreatedAt), CompletedAt: timeOrNil(p.CompletedAt), FileID: p.FileID, Name: p.Name, MediaType: p.MediaType, FileName: p.FileName,
			StartLine: p.StartLine, EndLine: p.EndLine, Content: p.Content, Path: p.Path, Description: p.Description, URL: p.URL, Title: p.Title})
	}
	return out
}
