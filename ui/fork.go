package ui

import (
	"net/http"
	"strconv"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/gate"
)

// fork copies a Chat up to a Message and leads to the copy.
func (s *Site) fork(w http.ResponseWriter, r *http.Request) {
	in := engine.ForkInput{ChatID: chatID(r)}
	if text := r.FormValue("message"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= 0 {
			gate.WriteError(w, r, chat.NotFound("message"))
			return
		}
		in.Message = chat.MessageID(n)
	}
	c, err := s.chats.Fork(r.Context(), gate.Principal(r.Context()), in)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	http.Redirect(w, r, "/chats/"+string(c.ID), http.StatusSeeOther)
}
