package workspace

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
)

// setupGrace is how long a setup that is told to end may take to do so.
const setupGrace = 5 * time.Second

// setup runs the setup of a Workspace and follows what it says. Its processes belong to no Chat.
func (r *Room) setup(ctx context.Context, w chat.WorkspaceRecord, said *ending) error {
	place, err := r.places.Open(ctx, w)
	if err != nil {
		return err
	}
	owner, all := chat.ID(w.ID), place.Processes()
	id := "setup-" + uuid.Must(uuid.NewV7()).String()
	touched, stop := all.Watch(id)
	defer stop()
	start := chat.ProcessStart{ID: id, ChatID: owner, Command: w.Made.Setup, Deadline: r.runtime(), Profile: setupProfile(w.Profile(), w.Made.Setup)}
	if !w.Trusted && r.holds(w, start.Profile) {
		// Nobody was asked because of that, so it is that or nothing.
		start.Level = chat.SandboxFull
	}
	if _, err := all.Start(ctx, start); err != nil {
		return err
	}
	limit := setupTimeout(w)
	late := time.NewTimer(limit)
	defer late.Stop()
	var why error
	for since := int64(0); ; {
		// It is asked without ctx: what it said until it was cut belongs to the log.
		out, err := all.Output(context.WithoutCancel(ctx), owner, id, since, 0)
		if err != nil {
			return err
		}
		said.add(out.Output)
		since = out.NextOffset
		if !out.Running {
			lookAgain(ctx, place)
			return ended(out, why)
		}
		select {
		case <-touched:
			continue
		case <-ctx.Done():
			why = context.Cause(ctx)
		case <-late.C:
			why = fmt.Errorf("setup was ended: it took longer than %s", limit)
		}
		if err := endSetup(ctx, all, owner, id); err != nil {
			return err
		}
	}
}

// endSetup ends a setup and waits until it is gone.
func endSetup(ctx context.Context, all chat.Processes, owner chat.ID, id string) error {
	ctx = context.WithoutCancel(ctx)
	for _, signal := range []string{"terminate", "kill"} {
		// An error says that it has just ended.
		_ = all.Signal(ctx, owner, id, signal)
		out, err := all.Output(ctx, owner, id, 0, setupGrace)
		if err != nil || !out.Running {
			return err
		}
	}
	return fmt.Errorf("setup does not end, though it was killed")
}

// lookAgain has the context of a Workspace beside an Agent read once more, for its Agent does not know that it was being set up. Without
// that it is read soon anyway.
func lookAgain(ctx context.Context, place chat.Workspace) {
	if _, distant := place.(chat.Distant); !distant {
		return
	}
	if keeper, can := place.(chat.ContextKeeper); can {
		if c := keeper.Context(); c != nil {
			_, _ = c.Resync(ctx)
		}
	}
}

func ended(out chat.ProcessOutput, why error) error {
	switch {
	case why != nil:
		return why
	case out.Error != "":
		return fmt.Errorf("setup: %s", out.Error)
	case out.Signal != "":
		return fmt.Errorf("setup was ended by %s", out.Signal)
	case out.ExitCode != 0:
		return fmt.Errorf("setup failed with exit code %d", out.ExitCode)
	}
	return nil
}

// ending hands a log on and keeps its end.
type ending struct {
	log   func(string)
	touch func()

	mu   sync.Mutex // guards kept
	kept string
}

func (e *ending) add(text string) {
	if text == "" {
		return
	}
	e.mu.Lock()
	e.kept += text
	if over := len(e.kept) - chat.SetupLogKept; over > 0 {
		e.kept = e.kept[over:]
	}
	e.mu.Unlock()
	e.touch()
	e.log(text)
}

// end gives what is kept, as text.
func (e *ending) end() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(e.kept, "\x00", ""), ""))
}
