// Package files reads, writes, edits and searches the files of one Workspace.
//
// Files implements chat.Files. Every path is resolved link by link inside the Workspace's directory and then opened through an
// os.Root, so that a link swapped in between cannot lead outside; only regular files are opened, without blocking. Gate lets
// one writer at a time at each real file and is shared by all Workspaces of a process.
//
// Caveats: os.Root does not stop bind mounts, and a file with several hard links is replaced under the one name that was
// written, its other names keep the old bytes. Extended attributes and access lists are not carried over to a replaced file.
// Protected paths (protected.go) are refused for writing. Below Options.Temp files are readable by their exact path only:
// it is never listed, so what keeps one Chat's logs from another is that their names cannot be guessed.
package files
