package engine

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"strings"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/engine/file"
	"holdfast/engine/picture"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// attachment is what became of a Result's Media: a File of the Chat, or none, and a line for the model.
type attachment struct {
	file *chat.File
	note string
}

// keepMedia stores the image or sound of a Result, made as small as requests take it. It is tied to the Chat when the Result is committed.
func (r *run) keepMedia(tool string, m *chat.Media) attachment {
	if m == nil {
		return attachment{}
	}
	if m.Name != "" {
		return r.keepGiven(m)
	}
	kind, _, _ := strings.Cut(m.Type, "/")
	if kind == "audio" {
		return r.keepSound(tool, m)
	}
	fitted, err := picture.Fit(r.ctx, m.Data)
	if err != nil {
		return attachment{note: "[image left out: " + err.Error() + "]"}
	}
	f, err := r.keepFile(&chat.File{Name: mediaName(tool, strings.TrimPrefix(fitted.MediaType, "image/")), MediaType: fitted.MediaType, FromTool: true}, fitted.Data)
	if err != nil {
		return attachment{note: "[image left out: it could not be stored]"}
	}
	return attachment{f, fmt.Sprintf("[image: %s, %d x %d]", f.Name, fitted.Width, fitted.Height)}
}

// keepGiven stores a file for the user, as it is.
func (r *run) keepGiven(m *chat.Media) attachment {
	f, err := r.keepFile(&chat.File{Name: m.Name, MediaType: file.MediaType(m.Data), FromTool: true, Given: true}, m.Data)
	if err != nil {
		return attachment{note: "[" + m.Name + " could not be stored: it is not attached]"}
	}
	return attachment{file: f}
}

// soundEndings are the names' endings of what servers call their sounds.
var soundEndings = map[string]string{"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/wav": "wav", "audio/wave": "wav", "audio/x-wav": "wav", "audio/vnd.wave": "wav",
	"audio/ogg": "ogg", "audio/opus": "opus", "audio/flac": "flac", "audio/aac": "aac", "audio/mp4": "m4a", "audio/webm": "webm"}

func (r *run) keepSound(tool string, m *chat.Media) attachment {
	if len(m.Data) == 0 || len(m.Data) > chat.MaxFileBytes {
		return attachment{note: fmt.Sprintf("[audio left out: it has %d bytes]", len(m.Data))}
	}
	declared, _, err := mime.ParseMediaType(m.Type)
	ending := soundEndings[declared]
	if err != nil || ending == "" {
		ending = "audio"
	}
	f, err := r.keepFile(&chat.File{Name: mediaName(tool, ending), MediaType: file.MediaType(m.Data), FromTool: true}, m.Data)
	if err != nil {
		return attachment{note: "[audio left out: it could not be stored]"}
	}
	return attachment{f, fmt.Sprintf("[audio: %s, %d bytes, attached to the chat for the user; the model does not hear it]", f.Name, f.Size)}
}

// mediaName is a File's name after the tool that answered with it.
func mediaName(tool, ending string) string {
	if _, own, found := strings.Cut(tool, "__"); found && own != "" {
		tool = own
	}
	return file.CleanName(tool+"."+ending, "")
}

// keepFile stores bytes and their record.
func (r *run) keepFile(f *chat.File, data []byte) (*chat.File, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), writeTimeout)
	defer cancel()
	sum, size, err := r.e.store.PutFile(ctx, bytes.NewReader(data))
	if err == nil {
		f.ID, f.OwnerID = chat.FileID(uuid.Must(uuid.NewV7()).String()), r.t.chat.OwnerID
		f.SHA256, f.Size, f.CreatedAt = sum, size, r.e.now().UTC()
		err = r.e.store.Update(ctx, func(tx *kv.Tx) error { return tx.PutFile(f) })
	}
	if err != nil {
		r.log().Warn("what a tool answered with could not be stored", chat.LogError, err)
	}
	return f, err
}

// resultPart encodes a Result: its Media goes into a File of the Chat, and a text of a server's tool that is too long into one of the Workspace.
func (r *run) resultPart(p *planned, res chat.Result, limit int) chat.Part {
	kept := r.keepMedia(p.def.Name, res.Media)
	res = r.e.cleanResult(res)
	whole := res.Content
	if kept.note != "" {
		res.Content = strings.TrimPrefix(res.Content+"\n"+kept.note, "\n")
	}
	part := prompt.EncodeResult(res, limit)
	if part.Truncated && p.def.Server != "" && res.Whole == "" {
		if res.Whole = r.keepOutput(whole); res.Whole != "" {
			part = prompt.EncodeResult(res, limit)
		}
	}
	if kept.file != nil {
		part.FileID, part.Name, part.MediaType = string(kept.file.ID), kept.file.Name, kept.file.MediaType
	}
	return part
}

// keepOutput gives the file with the whole of a text, "" where there is no place for it.
func (r *run) keepOutput(text string) string {
	keeper, ok := r.t.workspace.(chat.OutputKeeper)
	if !ok {
		return ""
	}
	path, err := keeper.KeepOutput(r.id, []byte(text))
	if err != nil {
		r.log().Warn("a result that is too long could not be kept whole", chat.LogError, err)
		return ""
	}
	return path
}

// trimMedia makes room for the Files of new Results.
func trimMedia(tx *kv.Tx, c *chat.Chat, msgs []chat.Message) error {
	for i := range msgs {
		for _, p := range msgs[i].Content {
			if p.Type == chat.PartToolResult && p.FileID != "" {
				return tx.TrimToolFiles(c.ID, chat.MaxToolFiles, chat.MaxChatFiles)
			}
		}
	}
	return nil
}

// loadMedia reads the Files of Results that this run has committed, for the requests that follow.
func (r *run) loadMedia() error {
	fresh := false
	for i := len(r.t.history) - 1; i >= 0 && r.t.history[i].Role != chat.RoleUser && !fresh; i-- {
		for _, p := range r.t.history[i].Content {
			_, known := r.t.files[p.FileID]
			fresh = fresh || p.Type == chat.PartToolResult && p.FileID != "" && !known
		}
	}
	if !fresh {
		return nil
	}
	files, err := r.e.loadFiles(r.ctx, r.promptInput())
	if err != nil {
		return storeError(err)
	}
	r.t.files = files
	return nil
}
