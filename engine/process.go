package engine

import (
	"context"
	"errors"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// ProcessesInput names the Chat whose processes are asked for.
type ProcessesInput struct{ ChatID chat.ID }

// Processes lists what a Chat started, running ones first, each with the end of its output.
func (e *Engine) Processes(ctx context.Context, _ chat.Principal, in ProcessesInput) ([]chat.ProcessOutput, error) {
	ws, err := e.workspaceOf(ctx, in.ChatID)
	if err != nil || ws == nil {
		return nil, err
	}
	list, err := ws.Processes().List(ctx, in.ChatID)
	if err != nil {
		return nil, readable(err)
	}
	out := make([]chat.ProcessOutput, 0, len(list))
	for _, p := range list {
		o, err := ws.Processes().Output(ctx, in.ChatID, p.ID, 0, 0)
		if err != nil {
			// It was forgotten between the two questions; what the list said is still true.
			o = chat.ProcessOutput{ProcessInfo: p}
		}
		out = append(out, o)
	}
	return out, nil
}

// StopProcessInput names a process of a Chat.
type StopProcessInput struct {
	ChatID    chat.ID
	ProcessID string
}

// StopProcess asks a process and its children to end. One that has ended is no error.
func (e *Engine) StopProcess(ctx context.Context, _ chat.Principal, in StopProcessInput) (Done, error) {
	ws, err := e.workspaceOf(ctx, in.ChatID)
	if err != nil {
		return Done{}, err
	}
	if ws == nil {
		return Done{}, chat.NotFound("process")
	}
	err = ws.Processes().Signal(ctx, in.ChatID, in.ProcessID, "terminate")
	var refused *chat.ProcessError
	switch {
	case errors.As(err, &refused) && refused.Kind == "exited":
		return Done{}, nil
	case errors.As(err, &refused) && refused.Kind == "not_found":
		return Done{}, chat.NotFound("process")
	}
	return Done{}, readable(err)
}

// readable gives what a person reads where a Workspace does not answer; other errors stay as they are.
func readable(err error) error {
	var process *chat.ProcessError
	var file *chat.FileError
	switch {
	case errors.As(err, &process) && process.Kind == "unreachable", errors.As(err, &file) && file.Kind == "unreachable":
		return &chat.Error{Kind: chat.KindUnreachable, Message: err.Error()}
	}
	return err
}

func unreachable(err error) bool {
	var known *chat.Error
	return errors.As(err, &known) && known.Kind == chat.KindUnreachable
}

// workspaceOf opens a Chat's Workspace, nil when it has none, or one whose directory is not made yet.
func (e *Engine) workspaceOf(ctx context.Context, id chat.ID) (chat.Workspace, error) {
	var c *chat.Chat
	unmade := false
	err := e.store.View(ctx, func(tx *kv.Tx) (err error) {
		if c, err = mustChat(tx, id); err != nil || c.WorkspaceID == "" {
			return err
		}
		w, found, err := tx.Workspace(c.WorkspaceID)
		unmade = found && w.Unmade()
		return err
	})
	if err != nil || c.WorkspaceID == "" || unmade {
		return nil, err
	}
	return e.ports.workspaces(ctx, c.WorkspaceID)
}

// ChangesInput names the Chat whose changed files are asked for.
type ChangesInput struct{ ChatID chat.ID }

// ChangedFile is a file as it was before the Chat first changed it, and as it is now. Bytes are nil where there is no file.
type ChangedFile struct {
	Path   string
	Before []byte
	After  []byte
}

// Changes are the files that a Chat changed with its file Tools, oldest change first. What commands changed is not among them.
type Changes struct {
	Files []ChangedFile
	// First is the user Message whose Turn changed the first file, 0 for none.
	First chat.MessageID
}

// maxShown bounds one side of a changed file that is shown, in bytes.
const maxShown = 1 << 20

// Changes compares each file that the Chat changed with what it was before.
func (e *Engine) Changes(ctx context.Context, _ chat.Principal, in ChangesInput) (Changes, error) {
	var out Changes
	var first []*chat.Checkpoint
	err := e.store.View(ctx, func(tx *kv.Tx) error {
		first = nil
		c, err := mustChat(tx, in.ChatID)
		if err != nil {
			return err
		}
		all, err := tx.Checkpoints(in.ChatID, 0)
		for _, f := range keptFiles(all, c.WorkspaceID) {
			// What was changed in another Workspace cannot be compared with this one.
			if f.first.WorkspaceID == "" || f.first.WorkspaceID == c.WorkspaceID {
				first = append(first, f.first)
			}
		}
		return err
	})
	if err != nil || len(first) == 0 {
		return out, err
	}
	out.First = first[0].MessageID
	ws, err := e.workspaceOf(ctx, in.ChatID)
	if err != nil || ws == nil {
		return out, err
	}
	for _, c := range first {
		f := ChangedFile{Path: c.Path}
		if c.Existed && c.Size <= maxShown {
			if f.Before, err = e.readKept(c.SHA256); err != nil {
				return out, err
			}
		}
		raw, err := ws.Files().Raw(ctx, c.Path, maxShown)
		if err = readable(err); unreachable(err) {
			return out, err
		}
		if err != nil && !isMissing(err) {
			continue
		}
		f.After = raw.Bytes
		out.Files = append(out.Files, f)
	}
	return out, nil
}
