// Package fs holds the file Tools: read_file, write_file, edit_files, list_files and search_files, one per file, made by Tools
// with Options.
//
// They act on the Files of the Call's Workspace, which keeps them inside its directory, and remember in Env.Reads, by resolved
// path, the hash of each file as the Chat last saw it: a file that somebody else changed since is not written. What a Tool answers
// is one JSON object that stays within Env.MaxText bytes, so that the engine never cuts into it; lists are cut at whole lines and
// say how much is missing. Result.Detail has the shapes ReadDetail, ChangeDetail, ListDetail and SearchDetail of engine/chat.
package fs
