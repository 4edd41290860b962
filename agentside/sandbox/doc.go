// Package sandbox starts commands confined.
//
// Box measures at its making, by really trying, what the kernel holds a command to: full (user, mount, process, network and IPC
// namespaces, Landlock, seccomp), partial (Landlock and seccomp alone) or none. Start runs a command at that level and with a
// profile, or fails; it never starts one with less than asked. The command is started through our own binary, whose main calls
// Child: it confines itself and then starts, or becomes, the shell.
//
// Caveats: only Linux on amd64 and arm64 has a level. With namespaces the binary stays as the first process inside, so that the
// command gets signals as any other and everything it started ends with it. A protected file that does not exist yet cannot be
// bound read-only, and one that stands below a directory can be moved away together with it, unless the directory is .git.
package sandbox
