package engine

import "time"

// line gives the times by which Chats wait for their turn. They begin with the machine's clock and then go on evenly, so that nobody is overtaken when that
// is set back.
type line struct {
	// begun is what it was at the moment at.
	begun, at time.Time
}

func (l *line) now() time.Time { return l.begun.Add(time.Since(l.at)) }

// behind moves the line behind a time of an earlier process. It is asked before anything runs.
func (l *line) behind(t time.Time) {
	if !l.now().After(t) {
		l.begun, l.at = t.Add(1), time.Now()
	}
}
