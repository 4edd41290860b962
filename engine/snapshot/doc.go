// Package snapshot keeps what is known of the context of Workspaces: the Snapshots that come from beside the files, which one is the
// newest, and what people see and change of them.
//
// Types: Room (chat.AgentSink, and the commands of the Context pages), View (what a person sees of a Workspace's context, or of a Chat's
// pin), Item (a Resource in a View), Change. Which Snapshot a Chat pins, and the mark that it is out of date, are the engine's.
//
// Caveats: who pushes is not trusted: hashes and limits are computed again on arrival. OwnChats must be called before the first push.
package snapshot

//go:generate go run holdfast/engine/guardgen
