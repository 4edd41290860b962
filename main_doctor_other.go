//go:build !linux

package main

import (
	"time"

	"holdfast/engine/health"
)

// machineLines says that nobody looked at the limits of this system.
func machineLines() []health.Line {
	return []health.Line{unseen("inotify"), unseen("open files"), unseen("processes")}
}

func unseen(name string) health.Line {
	return health.Line{Name: name, State: health.Skipped, Found: "is not looked at on this system"}
}

func mountLine(string) health.Line { return unseen("mount") }

func landlockLine() health.Line { return unseen("Landlock") }

func cards() []card { return nil }

func listensBeyond(uint16) bool { return false }

// sinceBoot is not known.
func sinceBoot() time.Duration { return 0 }
