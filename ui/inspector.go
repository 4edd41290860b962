package ui

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// Bounds of the right column: how long it is given to other readers of the same Version, how long making it may take, and how much of
// differences it shows.
const (
	inspectFresh   = time.Second
	inspectWait    = 10 * time.Second
	inspectedFiles = 100
	inspectedRows  = 5000
)

// inspectedAt is what a right column was made of; with another state of the Workspace it is another one, though the Chat is the same.
type inspectedAt struct {
	version int64
	space   chat.WorkspaceState
}

// inspections are the right columns that were just made. All readers of a Chat wake at once, and each would read and compare the
// same files.
type inspections struct {
	mu sync.Mutex // guards by
	by map[chat.ID]inspection
}

type inspection struct {
	of inspectedAt
	at time.Time
	// made gives the column, which the first who asks makes.
	made func() view.Inspector
}

// get gives the column of a Version, made by whoever asks first.
func (i *inspections) get(id chat.ID, of inspectedAt, now time.Time, makeOne func() view.Inspector) view.Inspector {
	return i.entry(id, of, now, makeOne)()
}

func (i *inspections) entry(id chat.ID, of inspectedAt, now time.Time, makeOne func() view.Inspector) func() view.Inspector {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e, ok := i.by[id]; ok && e.of == of && now.Sub(e.at) < inspectFresh {
		return e.made
	}
	if i.by == nil {
		i.by = map[chat.ID]inspection{}
	}
	for old, e := range i.by {
		if now.Sub(e.at) >= inspectFresh {
			delete(i.by, old)
		}
	}
	e := inspection{of: of, at: now, made: sync.OnceValue(makeOne)}
	i.by[id] = e
	return e.made
}

// inspector is the right column: changed files and processes, of a Workspace in this state.
func (s *Site) inspector(ctx context.Context, p chat.Principal, v engine.View, space chat.WorkspaceState) view.Inspector {
	of := inspectedAt{v.Chat.Version, space}
	out := s.shared.inspected.get(v.Chat.ID, of, time.Now(), func() view.Inspector {
		// The first reader makes it for all, so its leaving must not empty theirs.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), inspectWait)
		defer cancel()
		return s.inspect(ctx, p, v, of)
	})
	// What is found changes without the Chat or the state of its Workspace.
	out.Context = s.chatContext(ctx, p, v.Chat)
	return out
}

// inspect reads and compares what the right column shows.
func (s *Site) inspect(ctx context.Context, p chat.Principal, v engine.View, of inspectedAt) view.Inspector {
	out := view.Inspector{ChatID: string(v.Chat.ID), Version: v.Chat.Version, Servers: s.mcpOptions(ctx, p, v.Chat.MCPServerIDs, false)}
	if v.Workspace == nil {
		out.Changes.None = "This chat has no workspace."
		return out
	}
	// The version and the state make it another address, so that it is read again.
	out.Changes.Repos = "/chats/" + out.ChatID + "/repositories?at=" + strconv.FormatInt(out.Version, 10) + string(of.space)
	if v.Chat.Diff != nil {
		out.Changes.Git = &v.Chat.Diff.Files
	}
	changes, err := s.chats.Changes(ctx, p, engine.ChangesInput{ChatID: v.Chat.ID})
	if err != nil {
		out.Changes.Problem = sentence(err)
	}
	out.Changes.Files, out.Changes.More = differences(changes.Files)
	if len(out.Changes.Files) > 0 {
		out.Changes.Message = int64(changes.First)
	}
	out.Changes.Since = clock(v.Chat.CreatedAt).Format("15:04")
	processes, err := s.chats.Processes(ctx, p, engine.ProcessesInput{ChatID: v.Chat.ID})
	if err != nil {
		out.Unlisted = sentence(err)
	}
	for _, pr := range processes {
		out.Processes = append(out.Processes, processView(pr))
	}
	return out
}

// differences compares files as long as there is room for them; more is how many were left out.
func differences(files []engine.ChangedFile) (shown []text.DiffFile, more int) {
	rows := 0
	for i, f := range files {
		if len(shown) >= inspectedFiles || rows >= inspectedRows {
			return shown, len(files) - i
		}
		unified := udiff.Unified(f.Path, f.Path, string(f.Before), string(f.After))
		if unified == "" {
			continue
		}
		for _, d := range text.Diff(f.Path, unified) {
			if room := inspectedRows - rows; len(d.Rows) > room {
				d.Rows = append(d.Rows[:room:room], text.DiffRow{Kind: text.RowNote, HTML: "more lines differ"})
			}
			rows += len(d.Rows)
			shown = append(shown, d)
		}
	}
	return shown, 0
}

func processView(p chat.ProcessOutput) view.Process {
	out := view.Process{ID: p.ID, Command: p.Command, Running: p.Running, Output: p.Output}
	switch {
	case p.Running:
		out.Since = p.StartedAt.UnixMilli()
	case p.Signal != "":
		out.Out, out.Failed = "ended by "+p.Signal, true
	default:
		out.Out, out.Failed = "exit "+strconv.Itoa(p.ExitCode), p.ExitCode != 0
	}
	if p.EndedAt != nil {
		out.Took = view.Took(p.EndedAt.Sub(p.StartedAt))
	}
	return out
}
