package engine_test

import (
	"context"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
)

// TestMadeUpIDs: an id that the store has no keys for is an unknown one for whoever sent it.
func TestMadeUpIDs(t *testing.T) {
	r := newRig(t, setup{})
	id := r.create("go")
	r.rest(id)
	ctx, text := context.Background(), engine.TextParts("hello")
	for _, bad := range []string{"nope", "../x", "01A1FBB3-ADCD-7EA9-A9D3-2AA4820F09CB", "{01a1fbb3-adcd-7ea9-a9d3-2aa4820f09cb}", "00000000000000000000000000000000"} {
		model, space := chat.ModelConfigID(bad), chat.WorkspaceID(bad)
		_, create := r.engine.Create(ctx, r.who, engine.CreateInput{Content: text, ModelConfigID: model})
		_, createIn := r.engine.Create(ctx, r.who, engine.CreateInput{Content: text, WorkspaceID: space})
		_, send := r.engine.Send(ctx, r.who, engine.SendInput{ChatID: id, Content: text, ModelConfigID: model})
		_, amend := r.engine.Amend(ctx, r.who, engine.AmendInput{ChatID: id, ModelConfigID: &model})
		_, move := r.engine.Amend(ctx, r.who, engine.AmendInput{ChatID: id, WorkspaceID: &space})
		for name, err := range map[string]error{"create": create, "create in": createIn, "send": send, "amend": amend, "move": move} {
			if !isKind(err, chat.KindInvalid) {
				t.Errorf("%s with %q: %v", name, bad, err)
			}
		}
	}
}
