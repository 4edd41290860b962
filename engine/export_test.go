package engine

import "time"

// LookWithin sets how long a look at a Workspace's repositories may take. Call it before Start.
func (e *Engine) LookWithin(d time.Duration) { e.feed.diffs.look = d }
