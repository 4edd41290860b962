package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"holdfast/engine/chat"
)

// part takes the fields that belong to a Part's type, and no others.
func (x *importer) part(field string, role chat.Role, p *chat.Part) (chat.Part, error) {
	out := chat.Part{Type: p.Type}
	if !slices.Contains(importedTypes[role], p.Type) {
		return out, chat.Invalid(field+".type", "A message of role "+string(role)+" has no such part.")
	}
	size := len(p.Text) + len(p.Content) + len(p.Args) + len(p.Result)
	if size > maxImportedText {
		return out, &chat.Error{Kind: chat.KindTooLarge, Message: "A part of a message is larger than 16 MiB.", Validations: []chat.Validation{
			{Field: field, Detail: "It is larger than 16 MiB."}}}
	}
	for name, text := range map[string]string{"tool_call_id": p.CallID, "tool_name": p.ToolName, "media_type": p.MediaType} {
		if len(text) > maxName {
			return out, chat.Invalid(field+"."+name, "It is too long.")
		}
	}
	for name, text := range map[string]string{"name": p.Name, "file_name": p.FileName, "path": p.Path, "url": p.URL, "title": p.Title} {
		if len(text) > 4096 {
			return out, chat.Invalid(field+"."+name, "It is too long.")
		}
	}
	switch p.Type {
	case chat.PartText:
		out.Text = valid(p.Text)
	case chat.PartReasoning:
		out.Text, out.CreatedAt, out.CompletedAt = valid(p.Text), p.CreatedAt, p.CompletedAt
	case chat.PartToolCall, chat.PartToolResult:
		return x.call(field, role, p)
	case chat.PartFile:
		return x.file(field, p)
	case chat.PartFileReference:
		if p.FileName == "" || p.StartLine < 0 || p.EndLine < p.StartLine {
			return out, chat.Invalid(field, "A file reference has a file_name, and an end_line that is not before its start_line.")
		}
		out.FileName, out.StartLine, out.EndLine, out.Content = valid(p.FileName), p.StartLine, p.EndLine, valid(p.Content)
	case chat.PartContextFile:
		out.Path, out.Truncated = valid(p.Path), p.Truncated
	case chat.PartSkill:
		out.Name, out.Description = valid(p.Name), valid(p.Description)
	case chat.PartSource:
		out.URL, out.Title = valid(p.URL), valid(p.Title)
	}
	return out, checkTimes(field, out)
}

// call takes a Call or a Result. A Result follows its Call.
func (x *importer) call(field string, role chat.Role, p *chat.Part) (chat.Part, error) {
	out := chat.Part{Type: p.Type, CallID: valid(p.CallID), ToolName: valid(p.ToolName), ProviderExecuted: p.ProviderExecuted}
	if out.CallID == "" || out.ToolName == "" {
		return out, chat.Invalid(field, "It has a tool_call_id and a tool_name.")
	}
	if p.Type == chat.PartToolCall {
		if x.open[out.CallID] {
			return out, chat.Invalid(field+".tool_call_id", "Two calls of a message have this id.")
		}
		if args := bytes.TrimSpace(p.Args); len(args) > 0 && !bytes.Equal(args, []byte("null")) && (args[0] != '{' || !json.Valid(args)) {
			return out, chat.Invalid(field+".args", "It must be an object.")
		}
		out.Args, out.Repaired = p.Args, p.Repaired
		x.open[out.CallID] = true
		return out, nil
	}
	if role == chat.RoleAssistant && !p.ProviderExecuted {
		return out, chat.Invalid(field+".type", "Only the result of a call that the model's server ran stands in its message.")
	}
	if !x.open[out.CallID] {
		return out, chat.Invalid(field+".tool_call_id", "There is no such call before it, or it has its result already.")
	}
	if len(p.Result) == 0 || !json.Valid(p.Result) {
		return out, chat.Invalid(field+".result", "It must be JSON.")
	}
	delete(x.open, out.CallID)
	if p.FileID != "" || p.Name != "" {
		f, err := x.file(field, p)
		if err != nil {
			return out, err
		}
		out.FileID, out.Name, out.MediaType = f.FileID, f.Name, f.MediaType
	}
	out.Result, out.IsError, out.Truncated, out.FullBytes = p.Result, p.IsError, p.Truncated, max(p.FullBytes, 0)
	out.CreatedAt, out.CompletedAt = p.CreatedAt, p.CompletedAt
	return out, checkTimes(field, out)
}

func checkTimes(field string, p chat.Part) error {
	for name, at := range map[string]*time.Time{"created_at": p.CreatedAt, "completed_at": p.CompletedAt} {
		if at != nil && (at.Before(time.Unix(0, 0)) || at.Year() > 9999) {
			return chat.Invalid(field+"."+name, "It must be a time after 1970.")
		}
	}
	return nil
}
