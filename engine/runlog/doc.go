// Package runlog keeps what was asked of the model servers and what came back, call by call, so that a person can see the exact request
// behind an answer, and what each Turn spent its time on. Recorder wraps a chat.Model and hands each finished call to a Log; the engine hands it
// the Trace of each run; Room holds the commands.
//
// A Log is a directory with one folder a day and in it one file per Chat, a line per call. It stands beside the store: losing it loses no
// Chat, so its writes are not synced, it is not part of a backup, and what cannot be written in time is left out and counted, before any
// Turn waits for it. Known secrets are taken out on the way in; headers, and so keys, never come here.
//
// Caveats: entries go after 14 days, or earlier, oldest days first, when all together pass 1 GiB; they go with their Chat.
package runlog

//go:generate go run holdfast/engine/guardgen
