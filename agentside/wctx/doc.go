// Package wctx finds what a Workspace says to its Agents: instruction files, skills and MCP configs at fixed places, and keeps one
// Snapshot of them up to date.
//
// The resolver reads the roots once and gives a list of Resources. The watcher tells when it is to be read again. Manager holds both
// for one Workspace, with the Sources that users added, and publishes Snapshots; it implements chat.Context. Push hands each new
// Snapshot on, Handler serves all of it to the commands of the Workspace.
//
// Everything that is read here is hostile. Containment is a property of the open file: each root is an os.Root, links are followed in it
// step by step, and what leads out is a Resource with a reason and without a byte.
//
// Caveats: a directory with more than 10,000 entries is read in part, and says so. An edit of an oversize file behind its first 8 MiB
// that keeps the size is not seen. A child project that has neither an instruction file nor .git is looked at by a Resync only.
package wctx
