package shell

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/chat"
)

// watched is one process of a Call.
type watched struct {
	o     Options
	env   chat.Env
	id    string
	since int64
}

func (w watched) processes() chat.Processes { return w.env.Workspace.Processes() }

// wait gives the process as it is when it has ended, timeout has passed or ctx has ended. A wait that breaks is replaced by one
// look at the process: broken is then why, and err why that look failed too.
func (w watched) wait(ctx context.Context, timeout time.Duration) (out chat.ProcessOutput, broken, err error) {
	until := w.o.Now().Add(timeout)
	for {
		piece := min(max(until.Sub(w.o.Now()), 0), w.o.Piece)
		out, err := w.processes().Output(ctx, w.env.ChatID, w.id, w.since, piece)
		if err != nil {
			return w.look(ctx, out, err)
		}
		if !out.Running || ctx.Err() != nil || !w.o.Now().Before(until) {
			return out, nil, nil
		}
	}
}

// look asks once more how the process is, whatever became of ctx.
func (w watched) look(ctx context.Context, out chat.ProcessOutput, broken error) (chat.ProcessOutput, error, error) {
	if processKind(broken) != "" {
		return out, broken, broken
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.o.Snapshot)
	defer cancel()
	out, err := w.processes().Output(ctx, w.env.ChatID, w.id, w.since, 0)
	if err != nil {
		return out, broken, errors.Join(broken, err)
	}
	return out, broken, nil
}

// stop ends the process and its children for an interrupted Turn: terminate, and kill when Grace was not enough. It gives the
// process as it is then.
func (w watched) stop(ctx context.Context) (chat.ProcessOutput, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*w.o.Grace+w.o.Snapshot)
	defer cancel()
	var out chat.ProcessOutput
	for _, signal := range []string{"terminate", "kill"} {
		if err := w.processes().Signal(ctx, w.env.ChatID, w.id, signal); err != nil && processKind(err) != "exited" {
			return out, err
		}
		var err error
		if out, err = w.processes().Output(ctx, w.env.ChatID, w.id, w.since, w.o.Grace); err != nil || !out.Running {
			return out, err
		}
	}
	return out, errors.New("the process could not be ended")
}
