package engine

import (
	"errors"
	"fmt"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/engine/site"
	"holdfast/kv"
)

// summarise gets the text of s: from the model that the site chose for summaries where there is one that can write it, else from the Chat's own.
func (r *run) summarise(built prompt.Built, s *prompt.Summary) (err error) {
	limit := newSummaryLimit(r.ctx)
	defer limit.stop()
	chosen, why := r.summariser()
	if chosen != nil {
		s.Model = chosen.Model
		if s.Text, why, err = r.askSummariser(limit, *chosen, built); err != nil || s.Text != "" {
			return err
		}
	}
	if why != "" {
		r.log().Warn("the chat's own model writes a summary, not the one that was chosen for that", chat.LogReason, why)
		s.Model, s.Note = r.t.config.Model, why+" The chat's own model wrote this summary."
	}
	s.Text, err = r.askForSummary(limit, r.t.config, func(withoutTools bool) (*chat.Request, error) {
		r.unwrapping()
		req, ok := prompt.SummaryRequest(built, withoutTools)
		if !ok {
			return nil, prompt.ContextFull(built)
		}
		return req, nil
	})
	return err
}

// summariser gives the model that the site chose for summaries, nil for the Chat's own; why says that one was chosen that cannot be asked.
func (r *run) summariser() (chosen *chat.ModelConfig, why string) {
	var found chat.ModelConfig
	named := chat.ZeroModelConfig
	err := r.e.store.View(r.ctx, func(tx *kv.Tx) error {
		cfg, err := site.ReadCompaction(tx)
		if err != nil || cfg.ModelConfigID == chat.ZeroModelConfig {
			return err
		}
		named = cfg.ModelConfigID
		found, err = r.e.ports.configs(tx, named)
		return err
	})
	if err != nil && named == chat.ZeroModelConfig && !r.interrupted() {
		r.log().Warn("the settings of compactions could not be read, so the chat's own model is asked", chat.LogError, err)
	}
	switch {
	case named == chat.ZeroModelConfig:
		return nil, ""
	case err != nil, found.ID != named:
		return nil, "The model that is chosen for summaries is gone or switched off."
	case sameModel(found, r.t.config):
		// In another window it would be loaded anew.
		return nil, ""
	}
	return &found, ""
}

// askSummariser asks the chosen model. Without a text, why says what kept it from writing one; the error is the run's cause.
func (r *run) askSummariser(limit *summaryLimit, chosen chat.ModelConfig, built prompt.Built) (text, why string, err error) {
	window := windowOf(chosen)
	if r.e.ports.seats != nil {
		switch seat := r.e.ports.seats(r.ctx, chosen, window); {
		case seat.Place == chat.PlaceEvicts:
			return "", chosen.Model + " is chosen for summaries and has no room in memory beside the models in use.", nil
		case seat.Place == chat.PlaceLoaded && seat.Window > 0:
			window = seat.Window
		}
	}
	in := r.promptInput()
	in.Config, in.Window, in.JSONTools = chosen, window, false
	protocol := chosen.Protocol()
	in.TextTools = protocol == chat.ToolsText || protocol == chat.ToolsJSON
	if protocol == chat.ToolsOff {
		in.Tools = nil
	}
	other := prompt.Build(in)
	// What the server said of the prompt's length counts for the other model too.
	other.Tokens = max(other.Tokens, built.Tokens)
	text, err = r.askForSummary(limit, chosen, func(withoutTools bool) (*chat.Request, error) {
		r.t.unwrap = nil
		req, ok := prompt.SummaryRequestOf(other, r.t.window, withoutTools)
		if !ok {
			return nil, &chat.Error{Kind: chat.KindContextFull, Message: fmt.Sprintf("The conversation does not fit its window of %d tokens.", window)}
		}
		return req, nil
	})
	var failure *chat.Error
	switch {
	case r.interrupted():
		return "", "", err
	case errors.As(err, &failure):
		return "", chosen.Model + " is chosen for summaries and wrote none: " + failure.Message, nil
	case err != nil:
		return "", "", err
	case text == "":
		return "", chosen.Model + " is chosen for summaries and wrote none: its reply was empty.", nil
	}
	return text, "", nil
}

// askForSummary asks a model for the summary, once more without Tools when the reply has no text. Each call that was answered is booked.
func (r *run) askForSummary(limit *summaryLimit, m chat.ModelConfig, request func(withoutTools bool) (*chat.Request, error)) (string, error) {
	for _, withoutTools := range []bool{false, true} {
		req, err := request(withoutTools)
		if err != nil {
			return "", err
		}
		text := ""
		started := r.e.now()
		ctx, heard, done := limit.call()
		hear := r.hearSummary(&text)
		reply, err := r.e.model.Stream(chat.WithPurpose(ctx, chat.UsageCompaction), req, func(d chat.Delta) error {
			heard(d)
			return hear(d)
		})
		done()
		if err == nil || reply.Usage.InputTokens != nil {
			// The server worked for one, too, that was dropped because its prompt was cut.
			r.books.loaded(m.ID, reply.Load)
			r.books.spend(usageOf(r.t.chat, m, chat.UsageCompaction, reply, r.e.now().Sub(started), r.e.now()))
		}
		var failure *chat.Error
		if errors.As(err, &failure) && failure.Kind == chat.KindNoTools && !withoutTools {
			continue
		}
		if err != nil {
			return "", err
		}
		if text = strings.TrimSpace(text); text != "" {
			return text, nil
		}
	}
	return "", nil
}

// hearSummary collects the text of a summary and shows how the call fares; to a reader all of it is compacting.
func (r *run) hearSummary(text *string) func(chat.Delta) error {
	return func(d chat.Delta) error {
		switch now := r.e.now(); {
		case d.Retry != nil:
			*text = ""
			if r.t.unwrap != nil {
				r.t.unwrap = &prompt.Unwrapper{}
			}
			r.e.meters.retries.Inc(string(d.Retry.Kind))
			r.draft.pause(d.Retry, now)
			r.e.feed.touch(r.id)
			return nil
		case d.Phase != "":
			// The call is on its way, again after a retry.
			r.draft.setPhase(chat.PhaseCompacting, d.Place, now)
			r.pace.soon()
			return nil
		}
		if r.t.unwrap != nil {
			d.Text = r.t.unwrap.Add(d.Text)
		}
		*text += d.Text
		return nil
	}
}
