package main

import (
	"context"
	"fmt"
	"time"

	"holdfast/engine/health"
	"holdfast/kv"
)

const (
	// jump is how far the clock may be set while the appliance runs, and how far it may stand behind the newest change of a chat.
	jump = 5 * time.Second
	// clockTime bounds the look at all chats.
	clockTime = 5 * time.Second
)

// madeIn is a year in which this version was not there yet: a clock that is in it is wrong.
const madeIn = 2025

// moment is a time by the machine's clock, and by one that nobody sets and that goes on while the machine sleeps; 0 where there is none.
type moment struct {
	wall time.Time
	boot time.Duration
}

// setUntil is how far the machine's clock was set in between: what the two do not agree on.
func (m moment) setUntil(now moment) time.Duration {
	if m.boot == 0 || now.boot == 0 {
		return 0
	}
	return now.wall.Round(0).Sub(m.wall.Round(0)) - (now.boot - m.boot)
}

// clock holds the machine's clock against what is stored and against itself.
func (d doctor) clock(ctx context.Context) health.Line {
	now := time.Now()
	newest, set := d.newest, time.Duration(0)
	if d.running != nil {
		set = d.running.started.setUntil(moment{now, sinceBoot()})
		ctx, cancel := context.WithTimeout(ctx, clockTime)
		defer cancel()
		err := d.running.store.View(ctx, func(tx *kv.Tx) (err error) {
			newest, err = tx.NewestChange()
			return err
		})
		if err != nil {
			return health.Line{Name: "clock", State: health.Failed, Found: err.Error()}
		}
	}
	return clockLine(now, newest, set)
}

func clockLine(now, newest time.Time, set time.Duration) health.Line {
	l := health.Line{Name: "clock", State: health.Well, Found: now.UTC().Format("2006-01-02 15:04:05 UTC")}
	do := "Set it: times of messages, limits of usage, sessions and certificates go by it."
	switch {
	case now.Year() <= madeIn:
		l.State, l.Found, l.Do = health.Failed, l.Found+", which is before this version was made", do
	case newest.After(now.Add(jump)):
		l.State, l.Found, l.Do = health.Warning, fmt.Sprintf("%s, which is %s before the newest change of a chat", l.Found, newest.Sub(now).Round(time.Second)), do
	case set.Abs() > jump:
		l.State, l.Found = health.Warning, fmt.Sprintf("%s; it was set by %s since the start", l.Found, set.Round(time.Second))
		l.Do = "Sessions and codes may have ended early or late; a service that keeps the time sets it in small steps."
	}
	return l
}
