package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/kv"
)

// imageBytes bounds the images of one request, before they are written in base64. The newest ones are sent.
const imageBytes = 32 << 20

// attach fills in the File Parts of a user Message from the Files' records and ties them to the Chat; the caller then calls PutChat(c). The
// warnings say what the model or the Chat will not have of them. It refuses a File that is not there or belongs to somebody else.
func (e *Engine) attach(tx *kv.Tx, c *chat.Chat, by chat.UserID, config chat.ModelConfigID, parts []chat.Part) (out []chat.Part, warnings []string, err error) {
	var files []*chat.File
	out = append(out, parts...)
	for i := range out {
		if out[i].Type != chat.PartFile {
			continue
		}
		f, found, err := tx.File(chat.FileID(out[i].FileID))
		if err != nil {
			return nil, nil, err
		}
		if !found || f.OwnerID != by {
			return nil, nil, chat.Invalid("content["+strconv.Itoa(i)+"].file_id", "There is no such file.")
		}
		out[i].Name, out[i].MediaType = f.Name, f.MediaType
		files = append(files, f)
	}
	if len(files) == 0 {
		return out, nil, nil
	}
	if config == "" {
		config = c.ModelConfigID
	}
	var m *chat.ModelConfig
	if found, err := e.ports.configs(tx, config); err == nil {
		m = &found
	}
	ids := make([]chat.FileID, len(files))
	for i, f := range files {
		ids[i] = f.ID
		if w := warning(f, m); w != "" {
			warnings = append(warnings, w)
		}
	}
	dropped, err := tx.LinkFiles(c, ids, chat.MaxChatFiles)
	for _, f := range dropped {
		warnings = append(warnings, fmt.Sprintf("A chat keeps %d files: %q was dropped for the new one.", chat.MaxChatFiles, f.Name))
	}
	return out, warnings, err
}

// Left says what of a File requests to a model leave out.
type Left string

const (
	// LeftNothing: the model has all of it.
	LeftNothing Left = ""
	// LeftUnseen: the model cannot see images.
	LeftUnseen Left = "unseen"
	// LeftKind: an image of a kind that models cannot be shown.
	LeftKind Left = "kind"
	// LeftBinary: no text and no image.
	LeftBinary Left = "binary"
	// LeftLong: a text of which the middle is cut.
	LeftLong Left = "long"
)

func leftOf(f *chat.File, sees bool) Left {
	picture := chat.IsPicture(f.MediaType)
	switch {
	case picture && !sees:
		return LeftUnseen
	case picture && !prompt.ModelPicture(f.MediaType):
		return LeftKind
	case !picture && !chat.IsText(f.MediaType):
		return LeftBinary
	case !picture && f.Size > prompt.MaxInline:
		return LeftLong
	}
	return LeftNothing
}

// unseen says what to do about a model that is not known to see.
func unseen(m *chat.ModelConfig) string {
	if m.Provider == chat.ProviderOpenAI && m.Probe.Found(chat.FindVision).State == "" {
		return "If it has vision, let an admin test it on the Models page; its server does not say."
	}
	return "Choose a model with vision."
}

// warning says what of a File a model will not have, "" when it has all. m is nil where no model is left: the Turn will say so.
func warning(f *chat.File, m *chat.ModelConfig) string {
	if f.Dropped {
		return fmt.Sprintf("%q is no longer kept. Attach it again if it is needed.", f.Name)
	}
	switch leftOf(f, m == nil || prompt.Sees(*m)) {
	case LeftUnseen:
		return fmt.Sprintf("%s cannot see images: it is told the name of %q only. %s", m.Name, f.Name, unseen(m))
	case LeftKind:
		return fmt.Sprintf("Models cannot be shown images like %q. Attach it as PNG, JPEG or WebP.", f.Name)
	case LeftBinary:
		return fmt.Sprintf("%q is not text: the model is told its name only.", f.Name)
	case LeftLong:
		return fmt.Sprintf("%q is larger than %d KiB: the model reads its beginning and its end only.", f.Name, prompt.MaxInline>>10)
	}
	return ""
}

// firstWords are what a Chat is named after while it has no title: the text, or else the names of the files.
func firstWords(parts []chat.Part) string {
	text := chat.PlainText(parts)
	if strings.TrimSpace(text) != "" {
		return text
	}
	var names []string
	for _, p := range parts {
		if p.Name+p.FileName != "" {
			names = append(names, p.Name+p.FileName)
		}
	}
	return strings.Join(names, ", ")
}

// loadFiles reads what the request may have of the Files in its history. What is gone is left out, and the prompt says that it is missing.
func (e *Engine) loadFiles(ctx context.Context, in prompt.Input) (map[string]prompt.Attached, error) {
	parts := prompt.Attachments(in)
	if len(parts) == 0 {
		return nil, nil
	}
	kept := map[string]kv.ChatFile{}
	id := in.Chat.ID
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		clear(kept)
		all, err := tx.ChatFiles(id)
		for _, f := range all {
			kept[string(f.ID)] = f
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := map[string]prompt.Attached{}
	room := int64(imageBytes)
	for _, p := range parts {
		f, found := kept[p.FileID]
		_, done := out[p.FileID]
		if !found || f.Gone() || done {
			continue
		}
		picture := chat.IsPicture(f.MediaType)
		if !prompt.Wants(in.Config, f.MediaType) || picture && f.Size > room {
			out[p.FileID] = prompt.Attached{}
			continue
		}
		if picture {
			room -= f.Size
		}
		data, err := e.fileBytes(f.File)
		if err != nil {
			e.log.Warn("an attached file cannot be read", chat.LogChat, in.Chat.ID, chat.LogFile, f.ID, chat.LogError, err)
			continue
		}
		out[p.FileID] = prompt.Attach(f.MediaType, data)
	}
	return out, nil
}

func (e *Engine) fileBytes(f *chat.File) ([]byte, error) {
	r, err := e.store.OpenFile(f.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("its bytes are gone: %w", err)
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// Sees says whether images go to a model.
func Sees(m chat.ModelConfig) bool { return prompt.Sees(m) }
