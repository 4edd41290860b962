package workspace

import (
	"context"

	"holdfast/engine/chat"
)

// SandboxInput names a Workspace.
type SandboxInput struct{ ID chat.WorkspaceID }

// SandboxOutput is what confines the commands of a Workspace, and why that is not all there could be; "" when it is.
type SandboxOutput struct {
	Sandbox chat.Sandbox
	Reason  string
}

// Sandbox tells what confines the commands of a Workspace, as it was measured.
func (r *Room) Sandbox(ctx context.Context, p chat.Principal, in SandboxInput) (SandboxOutput, error) {
	w, err := r.Get(ctx, p, GetInput(in))
	if err != nil {
		return SandboxOutput{}, err
	}
	meter, can := r.places.(chat.SandboxMeter)
	if !can {
		none := chat.NoSandbox()
		none.Profile = w.Profile()
		return SandboxOutput{Sandbox: none, Reason: "nothing here confines commands"}, nil
	}
	var out SandboxOutput
	out.Sandbox, out.Reason = meter.Sandbox(ctx, w)
	return out, nil
}
