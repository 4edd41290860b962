package api

import (
	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// shownChildren are a root's sub-agents as they leave; they have none of their own, and nobody's unread mark counts them.
func shownChildren(children []*chat.Chat, owner chat.Principal) []client.Chat {
	out := make([]client.Chat, 0, len(children))
	for _, c := range children {
		phase := chat.Phase("")
		if c.State == chat.Pending {
			phase = chat.PhaseQueued
		}
		out = append(out, shownChat(c, owner, phase, false))
	}
	return out
}

// embed puts the sub-agents into the Chats of a list.
func (a *API) embed(q *request, list []client.Chat) error {
	in := engine.FamiliesInput{}
	for _, c := range list {
		in.IDs = append(in.IDs, c.ID)
	}
	families, err := a.o.Chats.Families(q.ctx(), q.who, in)
	for i := range list {
		if children := families[list[i].ID]; len(children) > 0 {
			list[i].Children = shownChildren(children, q.who)
		}
	}
	return err
}
