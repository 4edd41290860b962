package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// DefaultData gives the data directory where no flag names one: $HOLDFAST_DATA, else the first of $STATE_DIRECTORY, else
// $XDG_DATA_HOME/holdfast, else ~/.local/share/holdfast. It is "" on a machine that knows no home.
func DefaultData() string {
	if data := os.Getenv("HOLDFAST_DATA"); data != "" {
		return data
	}
	// systemd separates several with colons; ours is the first.
	if all := filepath.SplitList(os.Getenv("STATE_DIRECTORY")); len(all) > 0 && all[0] != "" {
		return all[0]
	}
	if home := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, "holdfast")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "holdfast")
}

// longestSocket is what fits into a Unix socket's address on every system that we run on, its closing zero byte left out.
const longestSocket = 103

// SocketPath gives the Unix socket of a data directory: holdfast.sock in the first of $RUNTIME_DIRECTORY and the directory itself.
// A path that is too long for a socket is replaced by a name made of its hash, in $XDG_RUNTIME_DIR or else in the system's temporary
// directory. The place is no secret and gives no authority: who connects needs a token.
func SocketPath(data string) string {
	path := filepath.Join(data, "holdfast.sock")
	if all := filepath.SplitList(os.Getenv("RUNTIME_DIRECTORY")); len(all) > 0 && all[0] != "" {
		path = filepath.Join(all[0], "holdfast.sock")
	}
	// Both sides must find the same name, whatever directory they stand in.
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	if len(path) <= longestSocket {
		return path
	}
	sum := sha256.Sum256([]byte(path))
	name := "holdfast-" + hex.EncodeToString(sum[:8]) + ".sock"
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), os.TempDir()} {
		if short := filepath.Join(dir, name); filepath.IsAbs(dir) && len(short) <= longestSocket {
			return short
		}
	}
	return filepath.Join("/tmp", name)
}

// TokenPath gives the file with the owner's token, which the appliance makes at its first start.
func TokenPath(data string) string { return filepath.Join(data, "cli.token") }

// DefaultAgentState gives the directory in which an Agent keeps its own things where no flag names one: the first of $STATE_DIRECTORY, else
// $XDG_STATE_HOME/holdfast-agent, else ~/.local/state/holdfast-agent. It is "" on a machine that knows no home.
func DefaultAgentState() string {
	if all := filepath.SplitList(os.Getenv("STATE_DIRECTORY")); len(all) > 0 && all[0] != "" {
		return all[0]
	}
	if home := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, "holdfast-agent")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "holdfast-agent")
}

// AgentSocket gives the Unix socket of an Agent's state directory. Who may open it is the owner alone, so it needs no token.
func AgentSocket(state string) string { return filepath.Join(state, "agent.sock") }

// AgentTokenPath gives the file with the token of an Agent that listens on a port.
func AgentTokenPath(state string) string { return filepath.Join(state, "agent.token") }
