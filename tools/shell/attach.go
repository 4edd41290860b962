package shell

import (
	"context"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// again goes on with a Call whose process an earlier run of the appliance started: it shows what was printed since, and waits anew.
func (e execute) again(ctx context.Context, w watched, ordered order) chat.Result {
	out, err := w.processes().Output(ctx, w.env.ChatID, w.id, 0, 0)
	switch kind := processKind(err); {
	case kind == "not_found" || kind == "restarted":
		return w.lost(ctx)
	case err != nil && kind != "exited":
		return answer.Failure("%s", reason(err))
	}
	if ordered.background && out.Running {
		return e.inBackground(w, ordered, out.ProcessInfo)
	}
	return e.inForeground(ctx, w, ordered, out.ProcessInfo)
}

// lost is the Result of a Call whose process nobody knows any more. Should its start still be on the way, it comes to nothing.
func (w watched) lost(ctx context.Context) chat.Result {
	if fencer, can := w.processes().(chat.Fencer); can {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.o.Snapshot)
		defer cancel()
		if err := fencer.Fence(ctx, w.env.ChatID, w.id, "kill"); err != nil && processKind(err) == "" {
			return answer.Failure("%s", reason(err))
		}
	}
	result := answer.Failure("%s", chat.TextStopped)
	result.Lost = true
	return result
}
