// Package proc runs the commands of Workspaces: each in a process group of its own, with empty input, its output in a buffer of
// bounded size.
//
// Manager holds all processes of the appliance; Scope shows those of one Workspace and implements chat.Processes. A process
// ends when its leader has exited and its output is closed, or five seconds after the leader, whoever still holds the output.
//
// Caveats: only Linux knows its boot id, start times and the environment of others, so only there a crash's leftovers and
// processes that left their group are found. Elsewhere on Unix groups are all that is ended; on Windows Start refuses. A process
// that drops HOLDFAST_PROCESS_ID from its environment and leaves its group is lost from sight.
package proc
