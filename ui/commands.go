package ui

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// done answers an intent: 204, or the error's sentence as a toast (an intent's page drops the body of every other status). Who is no page gets the
// error with its status.
func (s *Site) done(w http.ResponseWriter, r *http.Request, err error) {
	s.doneOr(w, r, err, func(e error) templ.Component {
		toast := view.Toast("refused", "danger", sentence(e), "")
		if r.Header.Get("Datastar-Request") != "" {
			// It patches only what the page has.
			return view.Toasts(toast)
		}
		return toast
	})
}

func (s *Site) doneOr(w http.ResponseWriter, r *http.Request, err error, show func(error) templ.Component) {
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var refused *chat.Error
	if !errors.As(err, &refused) || refused.Kind == chat.KindNotFound || refused.Kind == chat.KindStopping || !fromPage(r) {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, show(err))
}

func chatID(r *http.Request) chat.ID { return chat.ID(r.PathValue("id")) }

// intent runs a command on the Chat of the address and answers.
func intent[Out any](s *Site, w http.ResponseWriter, r *http.Request, command func(context.Context, chat.Principal) (Out, error)) {
	_, err := command(r.Context(), gate.Principal(r.Context()))
	s.done(w, r, err)
}

func (s *Site) send(w http.ResponseWriter, r *http.Request) {
	behavior, key := r.FormValue("behavior"), r.FormValue("key")
	var out engine.SendOutput
	content, err := s.sendParts(r)
	if err == nil {
		out, err = s.chats.Send(r.Context(), gate.Principal(r.Context()), engine.SendInput{ChatID: chatID(r), Content: content, Busy: behavior, Key: key})
	}
	if err == nil && len(out.Warnings) > 0 {
		// It was done all the same; the page must not send it again.
		w.Header().Set("Holdfast-Done", "1")
		s.fragment(w, r, view.Toast("warned", "warn", strings.Join(out.Warnings, " "), ""))
		return
	}
	s.doneOr(w, r, err, func(e error) templ.Component { return view.FormError("composer-error", sentence(e)) })
}

func (s *Site) interrupt(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (*chat.Chat, error) {
		return s.chats.Interrupt(ctx, p, engine.InterruptInput{ChatID: chatID(r)})
	})
}

func (s *Site) retry(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (*chat.Chat, error) {
		return s.chats.Retry(ctx, p, engine.RetryInput{ChatID: chatID(r)})
	})
}

func (s *Site) clear(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (*chat.Chat, error) {
		return s.chats.Clear(ctx, p, engine.ClearInput{ChatID: chatID(r)})
	})
}

func (s *Site) compact(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (*chat.Chat, error) {
		return s.chats.Compact(ctx, p, engine.CompactInput{ChatID: chatID(r)})
	})
}

func (s *Site) archive(w http.ResponseWriter, r *http.Request)   { s.setArchived(w, r, true) }
func (s *Site) unarchive(w http.ResponseWriter, r *http.Request) { s.setArchived(w, r, false) }

func (s *Site) setArchived(w http.ResponseWriter, r *http.Request, archived bool) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (*chat.Chat, error) {
		return s.chats.Amend(ctx, p, engine.AmendInput{ChatID: chatID(r), Archived: &archived})
	})
}

// pin puts a Chat below those that are pinned already.
func (s *Site) pin(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (*chat.Chat, error) {
		first, err := s.chats.List(ctx, p, engine.ListInput{Limit: 200})
		if err != nil {
			return nil, err
		}
		last := 0
		for _, c := range first.Chats {
			if c.ID != chatID(r) {
				last = max(last, c.PinOrder)
			}
		}
		order := last + 1
		return s.chats.Amend(ctx, p, engine.AmendInput{ChatID: chatID(r), PinOrder: &order})
	})
}

func (s *Site) unpin(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (*chat.Chat, error) {
		none := 0
		return s.chats.Amend(ctx, p, engine.AmendInput{ChatID: chatID(r), PinOrder: &none})
	})
}

func (s *Site) deleteChat(w http.ResponseWriter, r *http.Request) {
	_, err := s.chats.Delete(r.Context(), gate.Principal(r.Context()), engine.DeleteInput{ChatID: chatID(r)})
	if err != nil || r.FormValue("stay") != "" {
		s.done(w, r, err)
		return
	}
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusOK)
}

func (s *Site) rename(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (*chat.Chat, error) {
		title := r.FormValue("title")
		return s.chats.Amend(ctx, p, engine.AmendInput{ChatID: chatID(r), Title: &title})
	})
}

// settings takes the model and the workspace that were picked for a Chat.
func (s *Site) settings(w http.ResponseWriter, r *http.Request) {
	in := engine.AmendInput{ChatID: chatID(r)}
	if err := r.ParseForm(); err != nil {
		gate.WriteError(w, r, chat.Invalid("form", "It cannot be read."))
		return
	}
	if r.PostForm.Has("model_config_id") {
		id := chat.ModelConfigID(r.PostForm.Get("model_config_id"))
		in.ModelConfigID = &id
	}
	if r.PostForm.Has("workspace_id") {
		id := chat.WorkspaceID(r.PostForm.Get("workspace_id"))
		in.WorkspaceID = &id
	}
	if r.Form.Has("plan_mode") {
		mode := r.Form.Get("plan_mode")
		in.PlanMode = &mode
	}
	in.MCPServerIDs = chosenMCP(r.PostForm)
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (*chat.Chat, error) { return s.chats.Amend(ctx, p, in) })
}

func (s *Site) answer(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (engine.Done, error) {
		return s.chats.Answer(ctx, p, engine.AnswerInput{ChatID: chatID(r), CallID: r.PathValue("call"), Decision: r.FormValue("decision"),
			Reason: r.FormValue("reason"), Shown: r.FormValue("shown")})
	})
}

// restore puts files back and says which ones.
func (s *Site) restore(w http.ResponseWriter, r *http.Request) {
	out, err := s.chats.Restore(r.Context(), gate.Principal(r.Context()), engine.RestoreInput{ChatID: chatID(r), Message: queued(r).QueuedID})
	if err != nil {
		s.done(w, r, err)
		return
	}
	said := "Restored " + view.Count(len(out.Restored), "file") + "."
	if len(out.Skipped) > 0 {
		said += " Left alone, since they were changed by somebody else: " + joinShort(out.Skipped) + "."
	}
	undo := ""
	if out.Undo != 0 {
		undo = "/chats/" + string(chatID(r)) + "/checkpoints/" + strconv.FormatInt(int64(out.Undo), 10) + "/restore"
	}
	s.fragment(w, r, view.Toast("restored", "ok", said, undo))
}

func joinShort(paths []string) string {
	const shown = 3
	text := ""
	for i, p := range paths {
		if i == shown {
			return text + " and " + strconv.Itoa(len(paths)-shown) + " more"
		}
		if i > 0 {
			text += ", "
		}
		text += p
	}
	return text
}

func (s *Site) stopProcess(w http.ResponseWriter, r *http.Request) {
	intent(s, w, r, func(ctx context.Context, p chat.Principal) (engine.Done, error) {
		return s.chats.StopProcess(ctx, p, engine.StopProcessInput{ChatID: chatID(r), ProcessID: r.PathValue("process")})
	})
}
