// Package notice brings what the engine has to say to the people it concerns.
//
// Room keeps the newest Notices of each person in memory, and wakes the pages that listen. Post is the engine's port: it never waits. The newest
// hundred are written to the store soon after, so that a person can list them later and say up to where they were read.
//
// Far sends them on, where main allows it with Reach, to the browsers (Web Push, sealed end to end) and webhooks (JSON, signed) that a person
// has subscribed. A browser that its push service does not know any more goes; any other failure is counted and changes nothing.
//
// Caveats: a kill loses the Notices of the last second; the lists of chats show the same.
package notice

//go:generate go run holdfast/engine/guardgen
