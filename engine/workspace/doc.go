// Package workspace keeps the records of Workspaces and is their command room.
//
// Room holds the commands; pages and the JSON API reach them through its Guarded form, which decides whose Workspace it is and who may
// trust it. Open is for the engine.
// A record is only a pointer: deleting it leaves every file where it is. The places themselves are behind chat.Workspaces.
package workspace

//go:generate go run holdfast/engine/guardgen
