package ui

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// asked reads the user Message of the address.
func (s *Site) asked(r *http.Request) (*chat.Message, error) {
	n, err := strconv.ParseInt(r.PathValue("n"), 10, 64)
	if err != nil {
		return nil, chat.NotFound("message")
	}
	return s.chats.Message(r.Context(), gate.Principal(r.Context()), engine.MessageInput{ChatID: chatID(r), Message: chat.MessageID(n)})
}

// editor answers with the form that stands in a Message's place.
func (s *Site) editor(w http.ResponseWriter, r *http.Request) {
	m, err := s.asked(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	c, err := s.chats.Get(r.Context(), gate.Principal(r.Context()), engine.GetInput{ChatID: chatID(r)})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, view.Editor(view.Edit{ID: int64(m.ID), ChatID: string(m.ChatID), Text: chat.PlainText(m.Content), Key: view.NewKey(),
		Queued: c.Queued, Refs: len(otherParts(m.Content))}))
}

// otherParts are those that the editor does not show; they stay.
func otherParts(parts []chat.Part) []chat.Part {
	var out []chat.Part
	for _, p := range parts {
		if p.Type != chat.PartText {
			out = append(out, p)
		}
	}
	return out
}

// returned is text that comes back into the composer.
type returned struct {
	Compose []string `json:"compose"`
	// Files are ids of those that came with it, Named the paths of those that it named.
	Files []string `json:"files"`
	Named []string `json:"named"`
}

// pathsOf are the files that a Message names whole. Of lines of a file, which only programs send, no composer has a chip: they come back as words.
func pathsOf(parts []chat.Part) (paths []string, words string) {
	for _, p := range parts {
		switch {
		case p.Type != chat.PartFileReference:
		case p.StartLine == 0:
			paths = append(paths, p.FileName)
		default:
			words += "\n" + fileReference(&p).Label
		}
	}
	return paths, words
}

// proposeTitle answers with a title that a model made; the dialog takes it, and nothing is stored.
func (s *Site) proposeTitle(w http.ResponseWriter, r *http.Request) {
	out, err := s.chats.Title(r.Context(), gate.Principal(r.Context()), engine.TitleInput{ChatID: chatID(r)})
	if err != nil {
		s.doneOr(w, r, err, func(e error) templ.Component { return view.FormError("title-error", sentence(e)) })
		return
	}
	s.data(w, r, proposed{Title: out.Title})
}

// regenerateTitle lets a model name the Chat anew; the page shows it by its stream.
func (s *Site) regenerateTitle(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (engine.TitleOutput, error) {
		return s.chats.Title(ctx, p, engine.TitleInput{ChatID: chatID(r), Keep: true})
	})
}

type proposed struct {
	Title string `json:"title"`
}

// data answers an intent with something that the page's script takes.
func (s *Site) data(w http.ResponseWriter, r *http.Request, out any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(out); err != nil {
		s.log.DebugContext(r.Context(), "a reader left before the answer was out", chat.LogError, err)
	}
}

// edit puts a new text in the place of a Message. What waited in the queue goes back to the page.
func (s *Site) edit(w http.ResponseWriter, r *http.Request) {
	m, err := s.asked(r)
	if err != nil {
		s.done(w, r, err)
		return
	}
	content := append(engine.TextParts(r.FormValue("text")), otherParts(m.Content)...)
	out, err := s.chats.Edit(r.Context(), gate.Principal(r.Context()), engine.EditInput{ChatID: chatID(r), Message: m.ID, Content: content, Key: r.FormValue("key")})
	if err != nil || len(out.Dropped) == 0 {
		s.doneOr(w, r, err, func(e error) templ.Component { return view.FormError("edit-error", sentence(e)) })
		return
	}
	var back returned
	for _, q := range out.Dropped {
		paths, words := pathsOf(q.Content)
		if text := strings.TrimPrefix(chat.PlainText(q.Content)+words, "\n"); text != "" {
			back.Compose = append(back.Compose, text)
		}
		_, ids := namesOf(q.Content)
		back.Files, back.Named = append(back.Files, ids...), append(back.Named, paths...)
	}
	s.data(w, r, back)
}
