//go:build !linux

package main

import (
	"context"

	"holdfast/engine/chat"
)

// machineStats counts the processes; the rest is known on Linux only.
func machineStats(ctx context.Context, ws chat.Workspace, _ string) chat.AgentStats {
	var s chat.AgentStats
	if all, err := ws.Processes().List(ctx, ""); err == nil {
		for _, p := range all {
			if p.Running {
				s.Processes++
			}
		}
	}
	return s
}
