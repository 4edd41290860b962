package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"holdfast/ui/cli"
)

// agentUnit is the unit of an Agent (operations.md 5). It leaves namespaces and memory as they are: the sandbox of commands needs the
// first, runtimes that compile while they run the second.
const agentUnit = `[Unit]
Description=Holdfast agent for @DIR@
After=network-online.target
Wants=network-online.target

[Service]
Type=notify
WatchdogSec=30
TimeoutStartSec=infinity
ExecStart=@LINE@
Restart=on-failure
RestartPreventExitStatus=2 5 6 7 8
TimeoutStopSec=15
KillMode=control-group
User=holdfast-agent
StateDirectory=holdfast-agent
StateDirectoryMode=0700
UMask=0077
ProtectSystem=strict
ReadWritePaths=@DIR@
@HOME@PrivateTmp=yes
InaccessiblePaths=-/var/lib/holdfast -/etc/holdfast
NoNewPrivileges=yes
CapabilityBoundingSet=
PrivateDevices=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RestrictRealtime=yes
KeyringMode=private
ProtectKernelModules=yes
ProtectClock=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service @mount landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp
SystemCallErrorNumber=EPERM
LimitNOFILE=65536
MemoryMax=8G
TasksMax=8192
Delegate=pids memory
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK

[Install]
WantedBy=multi-user.target
`

// printUnit writes the unit that starts this Agent; whoever installs it reads it first.
func (o agentOptions) printUnit(stdout io.Writer, program string) error {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	words := []string{program, "--agent", "--url", o.url, "--dir", dir}
	for _, p := range o.pins {
		words = append(words, "--pin", p)
	}
	writes := dir
	for _, d := range o.makeIn {
		abs, err := filepath.Abs(d)
		if err != nil {
			return err
		}
		words, writes = append(words, "--make-in", abs), writes+" "+abs
	}
	for _, c := range o.calls {
		words = append(words, "--allow-call", c)
	}
	if o.enrolFile != "" {
		words = append(words, "--enrol-file", o.enrolFile)
	}
	if err := plainWords(words...); err != nil {
		return err
	}
	home := false
	for at := range strings.FieldsSeq(writes) {
		home = home || at == "/home" || at == "/root" || strings.HasPrefix(at, "/home/") || strings.HasPrefix(at, "/root/")
	}
	hide := "ProtectHome=tmpfs\n"
	if home {
		hide = ""
	}
	// No text/template: with it the linker keeps every exported method of every type, which is a tenth of the binary.
	_, err = strings.NewReplacer("@DIR@", writes, "@LINE@", strings.Join(words, " "), "@HOME@", hide).WriteString(stdout, agentUnit)
	return err
}

// plainWords refuses what a unit cannot hold as it is.
func plainWords(words ...string) error {
	for _, w := range words {
		if strings.ContainsAny(w, " \t\n\"'\\%$;") {
			return &cli.Exit{Code: cli.CodeUsage, Message: fmt.Sprintf("a unit cannot hold %q without quoting; choose a path without blanks and quotes", w)}
		}
	}
	return nil
}
