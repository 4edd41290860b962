//go:build !linux

package proc

import (
	"context"
	"time"
)

func bootID() string { return "" }

func carriedIDs(carried) (map[string]bool, error) { return nil, nil }

func groupRuns(int) bool { return true }

func startTime(int) int64 { return 0 }

// endOrphans ends nothing: without boot id and start time a pid alone would have to do, and that may be anybody's.
func endOrphans(context.Context, string, []entry, time.Duration) error { return nil }

func (m *Manager) endEscaped(context.Context) error { return nil }

func (m *Manager) endEscapedOf(context.Context, map[string]bool) error { return nil }
