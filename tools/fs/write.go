package fs

import (
	"context"
	"encoding/json"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// writer is write_file. Its Detail is a chat.ChangeDetail with one file.
type writer struct{ o Options }

var (
	_ chat.Tool    = writer{}
	_ chat.Planner = writer{}
)

func (writer) Def() chat.ToolDef {
	return chat.ToolDef{
		Name:        "write_file",
		Description: "Create a file or replace all of it. To change a part, use edit_files.",
		Effect:      chat.ClassChecked,
		Writes:      true,
		Workspace:   true,
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","description":"relative to the workspace"},` +
			`"content":{"type":"string","description":"the whole new content"}},` +
			`"required":["path","content"]}`),
	}
}

type writeArgs struct{ Path, Content string }

// writeResult is what the model sees of a write.
type writeResult struct {
	Created bool `json:"created"`
	Bytes   int  `json:"bytes"`
}

// dry parses the arguments and says what the write would do; refusal is the answer where it would be refused.
func (w writer) dry(ctx context.Context, env chat.Env, args json.RawMessage) (in writeArgs, would chat.Written, refusal *chat.Result) {
	refuse := func(r chat.Result) (writeArgs, chat.Written, *chat.Result) { return in, would, &r }
	if env.Workspace == nil {
		return refuse(answer.Failure(answer.NoWorkspace))
	}
	if err := parse(args, &in); err != nil {
		return refuse(answer.Failure("%v", err))
	}
	if len(in.Content) > w.o.WriteBytes {
		return refuse(answer.Failure("The content has %d bytes, at most %d can be written at once. Write a first part, then add the rest "+
			"with edit_files.", len(in.Content), w.o.WriteBytes))
	}
	would, err := env.Workspace.Files().Write(ctx, chat.WriteRequest{Path: in.Path, Content: []byte(in.Content), DryRun: true})
	if err != nil {
		return refuse(refused(ctx, err))
	}
	return in, would, nil
}

// Plan keeps the bytes of the file as it is now. It gives no change where Run would refuse.
func (w writer) Plan(ctx context.Context, env chat.Env, args json.RawMessage) []chat.FileChange {
	_, would, refusal := w.dry(ctx, env, args)
	if refusal != nil {
		return nil
	}
	change := chat.FileChange{Path: would.Path, Existed: !would.Created, BeforeHash: would.BeforeHash, AfterHash: would.Hash}
	if would.Created {
		return []chat.FileChange{change}
	}
	if s := standingOf(env.Reads, would.Path, would.BeforeHash); s == unread || s == stale {
		return nil
	}
	raw, err := env.Workspace.Files().Raw(ctx, would.Path, w.o.KeepBytes)
	if err != nil || raw.Hash != would.BeforeHash {
		return nil
	}
	change.Before = append([]byte{}, raw.Bytes...)
	return []chat.FileChange{change}
}

func (w writer) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	in, would, refusal := w.dry(ctx, env, args)
	if refusal != nil {
		return *refusal
	}
	if !would.Created {
		switch standingOf(env.Reads, would.Path, would.BeforeHash) {
		case unread:
			env.Reads.Note(would.Path, "")
			return answer.Failure("%s exists; read it, or repeat to replace it.", in.Path)
		case stale:
			return answer.Failure("%s", changedSince(in.Path))
		}
	}
	did, err := env.Workspace.Files().Write(ctx, chat.WriteRequest{Path: in.Path, Content: []byte(in.Content), IfMatch: would.BeforeHash})
	if isKind(err, "changed") {
		return answer.Failure("%s", changedSince(in.Path))
	}
	if err != nil {
		return refused(ctx, err)
	}
	env.Reads.Note(did.Path, did.Hash)
	files := []chat.ChangedFile{changed(did.Path, did.Diff, 0, did.Created)}
	cutDiffs(files, w.o.DiffBytes)
	return answer.Of(writeResult{Created: did.Created, Bytes: len(in.Content)}, chat.ChangeDetail{Files: files})
}
