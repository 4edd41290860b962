// Package rule keeps the permission rules: those of the site, of a Workspace and of a Chat's family (tools.md 3).
//
// Room holds the commands; pages and the JSON API reach them through its Guarded form. Read gives the Layers in a transaction, for the
// engine at the beginning of a Turn, and Layers.Merged the one set that Calls are decided by: the Chat's rules before the Workspace's
// before the site's, and a rule that denies wins wherever it stands. Caveat: rules that give commands the person's own rights are as
// good as trust, so only admins write those.
package rule

//go:generate go run holdfast/engine/guardgen
