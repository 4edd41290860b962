package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/engine/file"
	"holdfast/kv"
)

// maxTranscriptFiles bounds the bytes of all files of a Transcript. In base64, with the text, they fit into what an import takes.
const maxTranscriptFiles = 40 << 20

// TranscriptFile is the bytes of a file and their hash, in lower-case hexadecimal.
type TranscriptFile struct {
	SHA256 string
	// Data is told from others by its hash alone.
	Data []byte `json:"-"`
}

// transcriptFiles names the files of a Transcript by their hashes and reads them. Without bytes, nothing is named.
func (e *Engine) transcriptFiles(t *Transcript, files []kv.ChatFile, bytesToo bool) error {
	kept := map[string]*chat.File{}
	for _, f := range files {
		if bytesToo && !f.Gone() {
			kept[string(f.ID)] = f.File
		}
	}
	var all []*chat.File
	var size int64
	seen := map[string]bool{}
	for _, m := range t.Messages {
		for i := range m.Content {
			p := &m.Content[i]
			f := kept[p.FileID]
			if p.FileID = ""; f == nil {
				continue
			}
			if p.FileID = f.SHA256; seen[f.SHA256] {
				continue
			}
			seen[f.SHA256] = true
			all, size = append(all, f), size+f.Size
		}
	}
	if size > maxTranscriptFiles {
		return &chat.Error{Kind: chat.KindTooLarge, Message: fmt.Sprintf("The files of this chat have more than %d MiB.", maxTranscriptFiles>>20),
			Detail: "Export it without them: files=false, or --no-files."}
	}
	for _, f := range all {
		data, err := e.fileBytes(f)
		if err != nil {
			return fmt.Errorf("export the file %s: %w", f.ID, err)
		}
		t.Files = append(t.Files, TranscriptFile{SHA256: f.SHA256, Data: data})
	}
	return nil
}

// files holds the bytes against their hashes, before anything is stored.
func (x *importer) files(files []TranscriptFile) error {
	if len(files) > chat.MaxChatFiles {
		return chat.Invalid("files", fmt.Sprintf("A chat keeps %d files.", chat.MaxChatFiles))
	}
	x.kinds = map[string]string{}
	size := 0
	for i, f := range files {
		field := fmt.Sprintf("files[%d]", i)
		if len(f.Data) > chat.MaxFileBytes {
			return chat.Invalid(field+".data", fmt.Sprintf("It is larger than %d MiB.", chat.MaxFileBytes>>20))
		}
		if size += len(f.Data); size > maxTranscriptFiles {
			return chat.Invalid("files", fmt.Sprintf("Together they are larger than %d MiB.", maxTranscriptFiles>>20))
		}
		if sum := sha256.Sum256(f.Data); hex.EncodeToString(sum[:]) != f.SHA256 {
			return chat.Invalid(field+".sha256", "The bytes do not have this hash.")
		}
		if _, twice := x.kinds[f.SHA256]; twice {
			return chat.Invalid(field+".sha256", "Two files have this hash.")
		}
		x.kinds[f.SHA256] = file.MediaType(f.Data)
	}
	return nil
}

// file takes a file Part. Its kind is what the bytes look like, and one without bytes is a name only.
func (x *importer) file(field string, p *chat.Part) (chat.Part, error) {
	out := chat.Part{Type: p.Type, Name: valid(p.Name), MediaType: valid(p.MediaType)}
	if p.FileID == "" {
		return out, nil
	}
	kind, found := x.kinds[p.FileID]
	if !found {
		return out, chat.Invalid(field+".file_id", "None of files has this hash.")
	}
	out.Name, out.MediaType = file.CleanName(p.Name, kind), kind
	key := p.FileID + out.Name
	f := x.named[key]
	if f == nil {
		if len(x.named) == chat.MaxChatFiles {
			return out, chat.Invalid(field+".file_id", fmt.Sprintf("A chat keeps %d files.", chat.MaxChatFiles))
		}
		f = &chat.File{ID: chat.FileID(uuid.Must(uuid.NewV7()).String()), OwnerID: x.user, Name: out.Name, MediaType: kind, SHA256: p.FileID, CreatedAt: x.at,
			FromTool: p.Type == chat.PartToolResult}
		x.named[key] = f
	}
	out.FileID = string(f.ID)
	return out, nil
}

// importFiles stores the bytes that the Messages name.
func (e *Engine) importFiles(ctx context.Context, x *importer, files []TranscriptFile) ([]*chat.File, error) {
	of := map[string][]*chat.File{}
	for _, f := range x.named {
		of[f.SHA256] = append(of[f.SHA256], f)
	}
	for i, f := range files {
		if len(of[f.SHA256]) == 0 {
			return nil, chat.Invalid(fmt.Sprintf("files[%d]", i), "No message names it.")
		}
	}
	var out []*chat.File
	for _, f := range files {
		_, size, err := e.store.PutFile(ctx, bytes.NewReader(f.Data))
		if err != nil {
			return nil, storeError(err)
		}
		for _, made := range of[f.SHA256] {
			made.Size = size
			out = append(out, made)
		}
	}
	return out, nil
}
