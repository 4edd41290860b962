package proc

import (
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"holdfast/engine/chat"
)

// idVariable names the process a child belongs to; what left its group is found by it.
const idVariable = "HOLDFAST_PROCESS_ID"

// listVariable names the list that the id stands in: what others on this machine started is theirs.
const listVariable = "HOLDFAST_PROCESS_LIST"

// secret are variables of the appliance that a command must not see: credentials, and what a service manager meant for us.
var secret = []string{"HOLDFAST_TOKEN", "HOLDFAST_ENROL_TOKEN", "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "LISTEN_", "WATCHDOG_"}

// environ is the environment of a command: the appliance's without its secrets, the Workspace's variables, no terminal, pager, editor or
// prompt that would wait for a person, and what the request adds; later wins. caseless: names that differ in case alone are one.
func environ(caseless bool, base []string, variables map[string]string, req chat.ProcessStart, dir string) []string {
	key := func(name string) string {
		if caseless {
			return strings.ToUpper(name)
		}
		return name
	}
	at := map[string]int{}
	var env []string
	put := func(name, value string) {
		if i, there := at[key(name)]; there {
			env[i] = name + "=" + value
			return
		}
		at[key(name)] = len(env)
		env = append(env, name+"="+value)
	}
	for _, v := range base {
		if name, value, _ := strings.Cut(v, "="); name != "OLDPWD" && !isSecret(key(name)) {
			put(name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		put(name, variables[name])
	}
	for _, set := range []struct{ name, value string }{
		{"PWD", dir}, {"TERM", "dumb"}, {"PAGER", "cat"}, {"GIT_PAGER", "cat"}, {"GIT_TERMINAL_PROMPT", "0"}, {"EDITOR", "true"}, {"VISUAL", "true"},
		{"GIT_EDITOR", "true"}, {"DEBIAN_FRONTEND", "noninteractive"}, {"CI", "1"}, {"HOLDFAST_CHAT_ID", string(req.ChatID)},
	} {
		put(set.name, set.value)
	}
	for _, name := range slices.Sorted(maps.Keys(req.Env)) {
		put(name, req.Env[name])
	}
	// Nobody says otherwise: what left its group is found by it.
	put(idVariable, req.ID)
	return env
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

// Shell is the program that runs commands.
func Shell(env []string) string { return shell(runtime.GOOS, env) }

func shell(system string, env []string) string {
	for _, v := range env {
		if name, ok := strings.CutPrefix(v, "HOLDFAST_SHELL="); ok && name != "" {
			return name
		}
	}
	if system == "windows" {
		return "powershell"
	}
	if path, err := exec.LookPath("bash"); err == nil {
		return path
	}
	return "sh"
}

// commandLine is how the shell of a system is given a command.
func commandLine(system string, env []string, command string) []string {
	program := shell(system, env)
	name := strings.ToLower(program[strings.LastIndexAny(program, `/\`)+1:])
	if strings.TrimSuffix(name, ".exe") == "powershell" {
		return []string{program, "-NoProfile", "-NonInteractive", "-Command", command}
	}
	return []string{program, "-c", command}
}
