package agent

import (
	"context"

	"holdfast/engine/chat"
)

// RenewInput names an Agent.
type RenewInput struct{ ID chat.AgentID }

// Renew makes a token with which the machine of an Agent enrols anew, under a new key. Until it is used the Agent goes on as it is; the
// Agent that uses it takes its place, and its key is good no more. Only the owner of the Workspace renews: a token puts a machine behind
// the chats of that person.
func (r *Room) Renew(ctx context.Context, p chat.Principal, in RenewInput) (Enrolment, error) {
	a, err := r.Record(ctx, in.ID)
	if err != nil {
		return Enrolment{}, err
	}
	return r.Enrol(ctx, p, EnrolInput{WorkspaceID: a.WorkspaceID})
}
