package shell

import (
	"context"
	"errors"
	"strings"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// processKind gives the kind of a refusal by the Workspace's processes, "" for every other error.
func processKind(err error) string {
	var pe *chat.ProcessError
	if errors.As(err, &pe) {
		return pe.Kind
	}
	return ""
}

// reason is an error in words for the model.
func reason(err error) string {
	var pe *chat.ProcessError
	if errors.As(err, &pe) {
		return pe.Message
	}
	return "The workspace did not answer: " + err.Error() + "."
}

// unknown says which ids there are instead of id.
func unknown(ctx context.Context, env chat.Env, id string) chat.Result {
	list, err := env.Workspace.Processes().List(ctx, env.ChatID)
	if err != nil {
		return answer.Failure("There is no process %q. %s", clip(id), reason(err))
	}
	if len(list) == 0 {
		return answer.Failure("There is no process %q; this chat has started none that is still known.", clip(id))
	}
	ids := make([]string, 0, 10)
	for _, p := range list[:min(len(list), 10)] {
		ids = append(ids, p.ID)
	}
	return answer.Failure("There is no process %q. The processes of this chat are: %s.", clip(id), strings.Join(ids, ", "))
}

// notes joins what is worth saying.
func notes(parts ...string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, "; ")
}
