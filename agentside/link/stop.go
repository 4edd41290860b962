package link

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/chat"
)

// stopGrace is what processes have between terminate and kill.
const stopGrace = 5 * time.Second

// Stop ends all processes of an Agent's Workspace and waits until they are gone or ctx ends. An Agent that is away ends nothing, which is
// an error: nobody knows what runs there.
func (a *Appliance) Stop(ctx context.Context, rec chat.WorkspaceRecord) error {
	if rec.AgentID == "" {
		return nil
	}
	if spaceOf(rec) != "" {
		return a.stopMade(ctx, rec)
	}
	ws, err := a.Open(ctx, rec)
	if err != nil {
		return err
	}
	processes := ws.Processes()
	all, err := processes.List(ctx, "")
	if isKind(err, "unreachable") {
		return &chat.Error{Kind: chat.KindUnreachable, Message: err.Error(), Detail: "What runs there goes on until its agent is back or stopped."}
	}
	if err != nil {
		return err
	}
	for _, signal := range []string{"terminate", "kill"} {
		for _, p := range all {
			if !p.Running {
				continue
			}
			if err := processes.Signal(ctx, p.ChatID, p.ID, signal); err != nil && !isKind(err, "exited") {
				return err
			}
		}
		left := false
		until := time.Now().Add(stopGrace)
		for _, p := range all {
			if !p.Running {
				continue
			}
			out, err := processes.Output(ctx, p.ChatID, p.ID, 0, max(time.Until(until), time.Millisecond))
			if err != nil && !isKind(err, "exited") {
				return err
			}
			left = left || out.Running
		}
		if !left {
			return nil
		}
	}
	return errors.New("processes of the workspace could not be ended")
}

func isKind(err error, kind string) bool {
	var refused *chat.ProcessError
	return errors.As(err, &refused) && refused.Kind == kind
}
