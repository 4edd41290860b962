package proc

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// Later wins: the machine's own, the Workspace's variables, ours, the request's; secrets are nowhere, and the id is nobody else's to say.
func TestEnviron(t *testing.T) {
	base := []string{"PATH=/bin", "Path=/other", "HOME=/h", "TERM=xterm", "HOLDFAST_ENROL_TOKEN=s", "OLDPWD=/x", "LISTEN_FDS=3", "CI=0"}
	variables := map[string]string{"HOME": "/w", "STAGE": "test", "EDITOR": "vi", "HOLDFAST_PROCESS_ID": "other"}
	req := chat.ProcessStart{ID: "p1", ChatID: "c1", Env: map[string]string{"STAGE": "prod", "CI": "no", "EXTRA": "a=b", "HOLDFAST_PROCESS_ID": "mine"}}
	env := environ(false, base, variables, req, "/w/dir")
	for _, want := range []string{"PATH=/bin", "Path=/other", "HOME=/w", "STAGE=prod", "TERM=dumb", "EDITOR=true", "CI=no", "EXTRA=a=b", "PWD=/w/dir", "HOLDFAST_CHAT_ID=c1",
		"HOLDFAST_PROCESS_ID=p1", "GIT_TERMINAL_PROMPT=0", "DEBIAN_FRONTEND=noninteractive", "PAGER=cat", "GIT_PAGER=cat"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
	names := map[string]bool{}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if names[name] || name == "HOLDFAST_ENROL_TOKEN" || name == "OLDPWD" || name == "LISTEN_FDS" {
			t.Errorf("%s should not be there, or not twice: %q", name, env)
		}
		names[name] = true
	}
	env = environ(true, append(base, "holdfast_token=s"), map[string]string{"path": "/mine"}, chat.ProcessStart{ID: "p"}, "/w")
	if !slices.Contains(env, "path=/mine") || slices.ContainsFunc(env, func(v string) bool {
		return strings.HasPrefix(v, "PATH=") || strings.HasPrefix(v, "Path=") || strings.HasPrefix(v, "holdfast_token")
	}) {
		t.Errorf("without case: %q", env)
	}
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		system string
		env    []string
		want   string
	}{
		{"linux", []string{"HOLDFAST_SHELL=/bin/dash"}, "/bin/dash -c dir"},
		{"windows", nil, "powershell -NoProfile -NonInteractive -Command dir"},
		{"windows", []string{`HOLDFAST_SHELL=C:\Windows\PowerShell.exe`}, `C:\Windows\PowerShell.exe -NoProfile -NonInteractive -Command dir`},
		{"windows", []string{"HOLDFAST_SHELL=C:/git/bin/bash.exe"}, "C:/git/bin/bash.exe -c dir"},
	} {
		if got := strings.Join(commandLine(c.system, c.env, "dir"), " "); got != c.want {
			t.Errorf("%s %q: %s", c.system, c.env, got)
		}
	}
}
