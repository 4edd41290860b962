// Package notice brings what the engine has to say to the people it concerns.
//
// Room keeps the newest Notices of each person in memory, and wakes the pages that listen. Keep and Post are the engine's ports: Keep writes what was
// owed, in the transaction that takes it, Post tells it and never waits. The newest hundred stay in the store, so that a person can list them later
// and say up to where they were read; what could not be kept is written soon after it was told.
//
// Far sends them on, where main allows it with Reach, to the browsers (Web Push, sealed end to end) and webhooks (JSON, signed) that a person
// has subscribed. A browser that its push service does not know any more goes; any other failure is counted and changes nothing.
//
// Caveats: a kill between keeping and telling loses what browsers and webhooks would have been sent; the list has it.
package notice

//go:generate go run holdfast/engine/guardgen
