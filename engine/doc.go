// Package engine runs Turns and is the only writer of Chats.
//
// Engine holds the commands (one file each: create, send, interrupt, ...), the runner that takes pending Chats (runner.go), one run of a
// Chat (run.go, step.go, batch.go, commit.go, compact.go), recovery (recover.go), and what readers see (feed.go, draft.go, view.go).
//
// Every change of a Chat is one call of Engine.change: one transition of chat.Next in one transaction, and afterwards, in one place,
// everything that follows. A runner's writes are fenced by its Lease. Wake-ups carry nothing: whoever is woken reads again. The commands
// are called through the generated Guarded form only, which asks the policy of each first.
package engine
