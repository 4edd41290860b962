package ollama

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// FreeMemory unloads every model but this one that no call of ours uses, so that a large one finds room. Calls of other programs are the
// server's to protect: it unloads a busy model only when it is done.
func (a *Adapter) FreeMemory(ctx context.Context, keep string) error {
	loaded, err := a.loaded(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, m := range loaded {
		if strings.EqualFold(m.Name, keep) || a.slots.Busy(m.Name) {
			continue
		}
		body := map[string]any{"model": m.Name, "messages": []any{}, "keep_alive": 0, "stream": false}
		if err := a.fetch(ctx, http.MethodPost, "/api/chat", body, nil); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
