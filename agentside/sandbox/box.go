package sandbox

import (
	"errors"
	"os"
	"path/filepath"

	"holdfast/engine/chat"
)

// Defaults of Options.
const (
	defaultProcesses = 4096
	defaultShared    = 256 << 20
)

// ErrProgram is that the sandbox stands and the program in it does not start.
var ErrProgram = errors.New("its program does not start")

// Options say what is open to commands and what is not.
type Options struct {
	// Hidden are directories and files that no command sees, wherever they lie.
	Hidden []string
	// Read and Write are open to commands beside the system's directories, the toolchains that are found in the home and the
	// Workspace. What is not there is left out.
	Read, Write []string
	// Home is the person's directory, of which nothing else is open; "" is the user's.
	Home string
	// Processes is how many a command may have at once, Memory how many bytes they may use together, Shared the size of each
	// temporary file system; 0 is the default, 4,096, three quarters of the machine's and 256 MiB.
	Processes, Memory, Shared int64
	// Without holds commands to less than the machine has, as if its kernel were older.
	Without Without
}

// Without are parts of the kernel that are taken for missing.
type Without struct{ Namespaces, Landlock bool }

// Box confines commands as far as it was measured that it can.
type Box struct {
	opts  Options
	level chat.SandboxLevel
	// reason says why the level is not full, open what a command at this level reaches all the same.
	reason string
	open   []string
}

// Command is what Start runs.
type Command struct {
	Profile chat.Profile
	// Argv is the program, by its whole path, with its arguments.
	Argv, Env []string
	// Dir is where it starts, Workspace the directory it works in; both are absolute and real.
	Dir, Workspace string
	// Temp is the directory of its Chat, which holds its temporary files and its home; "" gives it ones that are gone with it.
	Temp string
	// Cache is a directory for what programs can make anew, which it shares with others of its Workspace; "" has that in the home. Without
	// Temp, and with what may only read, it counts for nothing.
	Cache string
	// Protected are paths below Workspace that it may only read.
	Protected []string
	// See are paths that it may read beside those of the Box.
	See []string
	// Input is what it reads, nil is nothing. Output gets what it prints, Errors what it prints as errors; nil is Output.
	Input, Output, Errors *os.File
}

func (o Options) filled() (Options, error) {
	if o.Home == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			home = "/nonexistent"
		}
		o.Home = home
	}
	if o.Processes == 0 {
		o.Processes = defaultProcesses
	}
	if o.Shared == 0 {
		o.Shared = defaultShared
	}
	if o.Memory == 0 {
		o.Memory = memory() / 4 * 3
	}
	o.Read = append(toolchains(o.Home), o.Read...)
	for _, list := range []*[]string{&o.Hidden, &o.Read, &o.Write} {
		real, err := realPaths(*list)
		if err != nil {
			return o, err
		}
		*list = real
	}
	return o, nil
}

// toolchains are where compilers and package managers keep what they run and read, and no credentials.
func toolchains(home string) []string {
	names := []string{"go/bin", "go/pkg/mod", "sdk", ".local/bin", ".local/lib", ".local/share/mise", ".local/share/uv", ".local/share/fnm",
		".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup", ".nvm", ".volta", ".pyenv", ".rbenv", ".asdf", ".sdkman/candidates", ".deno/bin",
		".bun/bin"}
	paths := make([]string, 0, len(names))
	for _, name := range names {
		paths = append(paths, filepath.Join(home, name))
	}
	return paths
}

// realPaths resolves links and leaves out what is not there.
func realPaths(paths []string) ([]string, error) {
	var some []string
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		some = append(some, real)
	}
	return some, nil
}

// Level is what was measured, and why it is not full.
func (b *Box) Level() (level chat.SandboxLevel, reason string) { return b.level, b.reason }

// Report says what confines a command with this profile. A Box that is nil confines nothing.
func (b *Box) Report(p chat.Profile) chat.Sandbox {
	if b == nil || p == chat.ProfileOff {
		return chat.NoSandbox()
	}
	if b.level == chat.SandboxNone {
		none := chat.NoSandbox()
		none.Profile = p
		return none
	}
	open := append([]string{}, b.open...)
	if p == chat.ProfileNetwork {
		open = append(open, "network")
	}
	return chat.Sandbox{Level: b.level, Profile: p, Open: open}
}

// Confines says whether a command with this profile is started through Start.
func (b *Box) Confines(p chat.Profile) bool {
	return b != nil && p != chat.ProfileOff && b.level != chat.SandboxNone
}

// ChildCommand is the command of our binary that is Child.
const ChildCommand = "confine"
