package ollama

import (
	"context"
	"net/http"

	"holdfast/engine/chat"
)

// Delete removes a model.
func (a *Adapter) Delete(ctx context.Context, name string) error {
	defer a.shown.forget(name)
	err := a.fetch(ctx, http.MethodDelete, "/api/delete", map[string]string{"model": name}, nil)
	if gone(err) {
		return chat.NotFound("model")
	}
	return a.manageError(err, name)
}
