package link

import (
	"context"
	"net/http"

	"holdfast/engine/chat"
)

var _ chat.OutputKeeper = (*place)(nil)

// KeepOutput keeps a text beside the Agent, where its Files find it.
func (p *place) KeepOutput(id chat.ID, text []byte) (string, error) {
	// The port has no context; a line waits for its Agent no longer than it may be absent, and this not much longer.
	ctx, cancel := context.WithTimeout(context.Background(), p.line.times.Absence+p.line.times.Write)
	defer cancel()
	got, err := p.line.ask(ctx, CapKeep, changing(call{method: http.MethodPost, path: "/outputs", chat: id, body: text}))
	if err != nil {
		return "", serverFault(err)
	}
	if refused := got.problem(); refused != nil {
		return "", refused.asError()
	}
	var out keptShape
	if err := got.into(&out); err != nil {
		return "", err
	}
	return out.Path, nil
}
