package quick

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// question is a small structured request.
type question struct {
	system, text string
	schema       string
	tokens       int
	within       time.Duration
}

// ask gives the answer's text and what the call used. base gives the model's name and options, so that the server need not load it anew.
func ask(ctx context.Context, model chat.Model, base *chat.Request, q question) (string, chat.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, q.within)
	defer cancel()
	zero := 0.0
	options := base.Options
	// Sampling options do not make the server load the model again; the others stay as they are.
	options.Temperature, options.Stop, options.Think = &zero, nil, "false"
	return collect(ctx, model, &chat.Request{Class: chat.ClassQuick, Provider: base.Provider, BaseURL: base.BaseURL, ModelConfigID: base.ModelConfigID,
		Model: base.Model, Options: options, MaxTokens: q.tokens, System: q.system,
		Messages: []chat.PromptMessage{{Role: chat.RoleUser, Content: q.text}}, Format: json.RawMessage(q.schema), Think: "false"})
}

// collect joins the text of a reply; Calls in it are ignored.
func collect(ctx context.Context, model chat.Model, req *chat.Request) (string, chat.Reply, error) {
	var text strings.Builder
	reply, err := model.Stream(ctx, req, func(d chat.Delta) error {
		if d.Retry != nil {
			text.Reset()
		}
		text.WriteString(d.Text)
		return nil
	})
	return text.String(), reply, err
}
