package ui

import (
	"context"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/view"
)

// found is the subscription to what is found in the Workspace that a Chat works in, which may become another one. Only what marks the Chat
// changes its Version: a server that answers, or a path that was added, does not.
type found struct {
	space string
	engine.Watch
}

func (f *found) stop() {
	if f.Stop != nil {
		f.Stop()
	}
	*f = found{}
}

// foundWakes gives the wakes of the Workspace that the page shows now; nil without one. With a new one the tab is read once more: what was found
// before woke nobody.
func (c *chatReader) foundWakes(ctx context.Context) <-chan struct{} {
	space := c.chrome.space.ID
	if space == c.found.space {
		return c.found.C
	}
	c.found.stop()
	c.found.space = space
	if space == "" {
		return nil
	}
	watch, err := c.s.chats.WatchContext(ctx, c.p, engine.WatchContextInput{WorkspaceID: chat.WorkspaceID(space)})
	if err != nil {
		// A sub-agent's page may outlive the workspace.
		c.s.log.DebugContext(ctx, "the context of a chat is not followed", chat.LogChat, c.id, chat.LogError, err)
		return nil
	}
	c.found.Watch, c.chrome.found = watch, true
	return watch.C
}

// contextPatch is the tab as it is now.
func (c *chatReader) contextPatch(ctx context.Context, v engine.View) patch {
	return patch{html: view.ContextPanel(c.s.chatContext(ctx, c.p, v.Chat))}
}
