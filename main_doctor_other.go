//go:build !linux

package main

import "holdfast/engine/health"

// machineLines says that nobody looked at the limits of this system.
func machineLines() []health.Line {
	return []health.Line{{Name: "inotify", State: health.Skipped, Found: "there is none on this system"},
		{Name: "open files", State: health.Skipped, Found: "the limit is not looked at on this system"}}
}
