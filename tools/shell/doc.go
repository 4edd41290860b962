// Package shell holds the command Tools: execute, process_output, process_list and process_signal, one per file, made by Tools
// with Options.
//
// They act on the Processes of the Call's Workspace. execute names the process itself, by a random UUID, so that a start that is
// repeated attaches instead of starting twice; it waits in the foreground, follows the output for Env.Output, and ends the process
// when the Turn is interrupted. Output is made plain (no escape sequences, of a rewritten line only its last state) and cut to head
// and tail so that the whole Result stays within Env.MaxText bytes. Result.Detail has the shapes ExecuteDetail, ProcessDetail and
// ProcessListDetail of engine/chat.
//
// Caveat: commands run without a sandbox, with the rights of the appliance, and every Result of execute says so.
package shell
