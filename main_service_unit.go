package main

import (
	"io"
	"slices"
	"strings"
)

// applianceUnit is the unit of the appliance. It runs no tools of its own: what confines it leaves no room for a sandbox, so Workspaces
// are beside an Agent, which has a unit with that room.
const applianceUnit = `[Unit]
Description=Holdfast, an appliance for coding agents with local models
After=network.target

[Service]
Type=notify
WatchdogSec=30
TimeoutStartSec=infinity
ExecStart=@PROGRAM@ serve --no-open --agents-listen 127.0.0.1:8421
Environment=HOLDFAST_LOCAL_WORKSPACES=off
Restart=on-failure
RestartPreventExitStatus=2 5 6 7 8
TimeoutStopSec=15
KillMode=mixed
User=holdfast
StateDirectory=holdfast
StateDirectoryMode=0700
RuntimeDirectory=holdfast
RuntimeDirectoryMode=0700
ConfigurationDirectory=holdfast
ConfigurationDirectoryMode=0755
LoadCredential=secret.key:/etc/holdfast/secret.key
UMask=0077
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
PrivateUsers=yes
PrivateDevices=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RestrictRealtime=yes
KeyringMode=private
RemoveIPC=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
ProtectProc=invisible
RestrictNamespaces=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
LimitNOFILE=65536
MemoryMax=2G
TasksMax=4096
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6

[Install]
WantedBy=multi-user.target
`

// loopbackOnly is the drop-in of an appliance that listens on loopback alone; whoever listens elsewhere removes it.
const loopbackOnly = `[Service]
IPAddressDeny=any
IPAddressAllow=localhost
`

func printApplianceUnit(w io.Writer, program string) error {
	if err := plainWords(program); err != nil {
		return err
	}
	_, err := strings.NewReplacer("@PROGRAM@", program).WriteString(w, applianceUnit)
	return err
}

// ofSystem are the settings of a unit that only the system's manager can keep, or that would take a person's own home away from them.
var ofSystem = []string{"User", "LoadCredential", "ProtectSystem", "ProtectHome", "ReadWritePaths", "PrivateTmp", "InaccessiblePaths", "CapabilityBoundingSet", "PrivateUsers", "PrivateDevices",
	"RemoveIPC", "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs", "ProtectControlGroups", "ProtectClock", "ProtectHostname", "ProtectProc", "RestrictNamespaces",
	"MemoryDenyWriteExecute", "SystemCallFilter", "SystemCallErrorNumber", "Environment", "RestrictAddressFamilies", "Delegate"}

// forUser makes of a unit of the system one of a person: it runs as they do, with their folders as its own.
func forUser(unit string) string {
	var out strings.Builder
	for line := range strings.Lines(unit) {
		name, _, _ := strings.Cut(line, "=")
		if slices.Contains(ofSystem, name) || strings.HasPrefix(line, "Wants=network") || strings.HasPrefix(line, "After=network") {
			continue
		}
		out.WriteString(strings.Replace(line, "WantedBy=multi-user.target", "WantedBy=default.target", 1))
	}
	return out.String()
}
