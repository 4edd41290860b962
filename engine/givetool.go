package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/file"
)

// toolGive is the Tool that gives the user a file.
const toolGive = "attach_file"

// giveTool copies a file of the Workspace into the Chat. The copy never changes, whatever becomes of the file.
func giveTool() chat.Tool {
	return ownTool{run: giveFile, def: chat.ToolDef{Name: toolGive, Effect: chat.ClassRead, Workspace: true,
		Description: "Give the user a file from the workspace to see or download.",
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"relative to the workspace"},` +
			`"name":{"type":"string","description":"what the user sees it called"}},"required":["path"]}`)}}
}

// givenFile is a Result of attach_file.
type givenFile struct {
	File      string `json:"file"`
	MediaType string `json:"media_type"`
	Bytes     int    `json:"bytes"`
	SHA256    string `json:"sha256"`
	Note      string `json:"note"`
}

func giveFile(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	var in struct{ Path, Name string }
	if err := json.Unmarshal(args, &in); err != nil {
		return failed("The arguments cannot be read: %v", err)
	}
	if env.Workspace == nil {
		return failed(textNoPlace)
	}
	raw, err := env.Workspace.Files().Raw(ctx, in.Path, chat.MaxFileBytes)
	var refused *chat.FileError
	switch {
	case errors.As(err, &refused) && refused.Kind == "too_large":
		return failed("%s is larger than %d MiB and cannot be attached. Tell the user where it is.", in.Path, chat.MaxFileBytes>>20)
	case errors.As(err, &refused):
		return failed("%s", refused.Message)
	case err != nil:
		return failed("The file could not be read: %v", err)
	}
	kind := file.MediaType(raw.Bytes)
	if !chat.IsText(kind) && !chat.IsPicture(kind) && kind != "application/pdf" {
		return failed("%s is %s. Only text, PDF and images can be attached. Tell the user where it is.", raw.Path, kind)
	}
	name := in.Name
	if strings.TrimSpace(name) == "" {
		name = raw.Path
	}
	name = file.CleanName(name, kind)
	note := "The user sees it in the chat."
	if !chat.IsPicture(kind) {
		note = "The user can download it from the chat."
	}
	res := resultOf(givenFile{File: name, MediaType: kind, Bytes: len(raw.Bytes), SHA256: raw.Hash, Note: note})
	res.Media = &chat.Media{Type: kind, Name: name, Data: raw.Bytes}
	return res
}
