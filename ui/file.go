package ui

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/file"
	"holdfast/engine/workspace"
	"holdfast/ui/gate"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// upload takes a file for the composer and answers with its chip, or with one that says why it was not taken.
func (s *Site) upload(w http.ResponseWriter, r *http.Request) {
	name, err := url.PathUnescape(r.Header.Get("X-File-Name"))
	if err != nil {
		name = ""
	}
	f, err := s.o.Files.Upload(r.Context(), gate.Principal(r.Context()), file.UploadInput{Name: name, Body: r.Body})
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		err = &chat.Error{Kind: chat.KindTooLarge, Message: "Larger than " + view.MiB(large.Limit) + "."}
	}
	if err != nil {
		s.doneOr(w, r, err, func(e error) templ.Component { return view.FileRefused(name, sentence(e)) })
		return
	}
	s.fragment(w, r, view.FileChips([]view.Attached{attached(&f)}))
}

// download gives the bytes of a file.
func (s *Site) download(w http.ResponseWriter, r *http.Request) {
	o, err := s.o.Files.Open(r.Context(), gate.Principal(r.Context()), file.OpenInput{FileID: chat.FileID(r.PathValue("id"))})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	defer o.Body.Close()
	gate.WriteFile(w, r, o.File, o.Body, s.log)
}

// chips answers with the files that are named and still there.
func (s *Site) chips(w http.ResponseWriter, r *http.Request) {
	list, err := s.attachedTo(r, r.URL.Query()["id"])
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, view.FileChips(list))
}

func (s *Site) attachedTo(r *http.Request, ids []string) ([]view.Attached, error) {
	var list []view.Attached
	for _, id := range ids[:min(len(ids), chat.MaxMessageFiles)] {
		f, err := s.o.Files.Get(r.Context(), gate.Principal(r.Context()), file.GetInput{FileID: chat.FileID(id)})
		var refused *chat.Error
		if errors.As(err, &refused) && refused.Kind == chat.KindNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !f.Dropped {
			list = append(list, attached(&f))
		}
	}
	return list, nil
}

func attached(f *chat.File) view.Attached {
	return view.Attached{ID: string(f.ID), Name: f.Name, URL: "/files/" + string(f.ID), Size: view.Bytes(f.Size), Picture: chat.IsPicture(f.MediaType)}
}

// written is what a composer's form holds: a text, files of the workspace that it names, as they are now, and files beside it.
func (s *Site) written(r *http.Request, space chat.WorkspaceID) ([]chat.Part, error) {
	var parts []chat.Part
	said := r.FormValue("text")
	refs, ids := r.PostForm["ref"], r.PostForm["file"]
	if strings.TrimSpace(said) != "" || len(ids)+len(refs) == 0 {
		parts = engine.TextParts(said)
	}
	for _, path := range refs[:min(len(refs), chat.MaxMessageFiles)] {
		f, err := s.workspaces.Text(r.Context(), gate.Principal(r.Context()), workspace.TextInput{ID: space, Path: path})
		if err != nil {
			return nil, err
		}
		parts = append(parts, chat.Part{Type: chat.PartFileReference, FileName: f.Path, Content: f.Content})
	}
	for _, id := range ids {
		parts = append(parts, chat.Part{Type: chat.PartFile, FileID: id})
	}
	return parts, nil
}

// sendParts reads a composer's form for a Chat.
func (s *Site) sendParts(r *http.Request) ([]chat.Part, error) {
	space := chat.WorkspaceID("")
	if r.FormValue("ref") != "" {
		c, err := s.chats.Get(r.Context(), gate.Principal(r.Context()), engine.GetInput{ChatID: chatID(r)})
		if err != nil {
			return nil, err
		}
		space = c.WorkspaceID
	}
	return s.written(r, space)
}

// paths answers with the files that what was typed may mean.
func (s *Site) paths(w http.ResponseWriter, r *http.Request) {
	found, err := s.workspaces.Paths(r.Context(), gate.Principal(r.Context()), workspace.PathsInput{ID: chat.WorkspaceID(r.PathValue("id")),
		Query: r.FormValue("q")})
	problem := ""
	if err != nil {
		if !readableError(err) {
			gate.WriteError(w, r, err)
			return
		}
		problem = sentence(err)
	}
	s.fragment(w, r, view.PathChoices(found, problem))
}

// sentFile shows a file of a Message as the Chat has it now; one without a record is gone.
func (t *transcript) sentFile(p *chat.Part) view.Attached {
	f, known := t.attached[p.FileID]
	if !known {
		return view.Attached{ID: p.FileID, Name: p.Name, Picture: chat.IsPicture(p.MediaType), Gone: true}
	}
	out := attached(f.File)
	out.Gone = f.Gone
	switch f.Left {
	case engine.LeftUnseen:
		out.Note = "not seen by " + t.model
	case engine.LeftKind, engine.LeftBinary:
		out.Note = "its name only for the model"
	case engine.LeftLong:
		out.Note = "its beginning and end for the model"
	}
	return out
}

// namesOf are the names of the files of a Message that waits.
func namesOf(parts []chat.Part) (names, ids []string) {
	for _, p := range parts {
		if p.Type == chat.PartFile {
			names, ids = append(names, p.Name), append(ids, p.FileID)
		}
	}
	return names, ids
}

// reference shows what a Part names: a file or lines of it, a source, an instruction file, a skill. named is false for other Parts.
func reference(p *chat.Part) (r view.Ref, named bool) {
	switch p.Type {
	case chat.PartFileReference:
		return fileReference(p), true
	case chat.PartContextFile:
		r = view.Ref{Icon: "i-layers", Label: text.Reveal(p.Path)}
		if p.Truncated {
			r.Label += ", cut"
		}
	case chat.PartSkill:
		r = view.Ref{Icon: "i-wrench", Label: text.Reveal(p.Name)}
	case chat.PartSource:
		r = view.Ref{Icon: "i-compass", Label: text.Reveal(p.Title)}
		if u, err := url.Parse(p.URL); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			r.URL = p.URL
		}
		if r.Label == "" {
			r.Label = text.Reveal(p.URL)
		}
	default:
		return r, false
	}
	return r, true
}

func fileReference(p *chat.Part) view.Ref {
	r := view.Ref{Icon: "i-file", Label: text.Reveal(p.FileName)}
	switch {
	case p.EndLine > p.StartLine && p.StartLine > 0:
		r.Label += ", lines " + strconv.Itoa(p.StartLine) + " to " + strconv.Itoa(p.EndLine)
	case p.StartLine > 0:
		r.Label += ", line " + strconv.Itoa(p.StartLine)
	}
	if p.Content == "" {
		return r
	}
	var numbered strings.Builder
	n := max(p.StartLine, 1)
	for line := range strings.SplitSeq(strings.TrimSuffix(p.Content, "\n"), "\n") {
		numbered.WriteString(strconv.Itoa(n) + "\t" + line + "\n")
		n++
	}
	r.Source = text.Source(p.FileName, numbered.String())
	return r
}
