package proc

import (
	"os"
	"os/exec"
	"strings"

	"holdfast/engine/chat"
)

// idVariable names the process a child belongs to; what left its group is found by it.
const idVariable = "HOLDFAST_PROCESS_ID"

// secret are variables of the appliance that a command must not see: credentials, and what a service manager meant for us.
var secret = []string{"HOLDFAST_TOKEN", "HOLDFAST_ENROL_TOKEN", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "LISTEN_", "WATCHDOG_"}

// environ is the environment of a command: the appliance's without its secrets, and no terminal, pager, editor or prompt that
// would wait for a person.
func environ(base []string, req chat.ProcessStart, dir string) []string {
	set := []string{
		"PWD=" + dir, "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "EDITOR=true", "VISUAL=true", "GIT_EDITOR=true",
		"DEBIAN_FRONTEND=noninteractive", "CI=1", "HOLDFAST_CHAT_ID=" + string(req.ChatID), idVariable + "=" + req.ID,
	}
	ours := map[string]bool{"OLDPWD": true}
	for _, v := range set {
		name, _, _ := strings.Cut(v, "=")
		ours[name] = true
	}
	var env []string
	for _, v := range base {
		name, _, _ := strings.Cut(v, "=")
		if !ours[name] && !isSecret(name) {
			env = append(env, v)
		}
	}
	return append(env, set...)
}

// Inherited is what a program of a Workspace inherits of an environment; nil is this process's own.
func Inherited(base []string) []string {
	if base == nil {
		base = os.Environ()
	}
	var env []string
	for _, v := range base {
		if name, _, _ := strings.Cut(v, "="); !isSecret(name) {
			env = append(env, v)
		}
	}
	return env
}

func isSecret(name string) bool {
	for _, prefix := range secret {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Shell is the program that runs a command with -c.
func Shell(env []string) string {
	for _, v := range env {
		if name, ok := strings.CutPrefix(v, "HOLDFAST_SHELL="); ok && name != "" {
			return name
		}
	}
	if path, err := exec.LookPath("bash"); err == nil {
		return path
	}
	return "sh"
}
