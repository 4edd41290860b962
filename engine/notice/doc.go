// Package notice brings what the engine has to say to the people it concerns.
//
// Room keeps the newest Notices of each person in memory, and wakes the pages that listen. Post is the engine's port: it never waits.
//
// Caveats: a Notice that nobody listened for within the last few is gone with the process; the lists of chats show the same.
package notice

//go:generate go run holdfast/engine/guardgen
