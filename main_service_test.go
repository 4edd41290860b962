package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/ui/cli"
)

var update = flag.Bool("update", false, "write the golden files anew")

// serviceUnits are the units as a machine with the program in /usr/local/bin gets them, by the file that shows them.
func serviceUnits() map[string]serviceOptions {
	const program = "/usr/local/bin/holdfast"
	at := agentOptions{url: "https://127.0.0.1:8421", dir: "/srv/shop", pins: list{"sha256:" + strings.Repeat("ab", 32)}, enrolFile: "/etc/holdfast-agent/token"}
	return map[string]serviceOptions{
		"holdfast.service":            {program: program},
		"holdfast-agent.service":      {program: program, agent: true, at: at},
		"user/holdfast.service":       {program: program, user: true},
		"user/holdfast-agent.service": {program: program, agent: true, user: true, at: at},
	}
}

// Test43ServiceUnits: the units are those of docs/units, and systemd warns of nothing in them where it is installed.
func Test43ServiceUnits(t *testing.T) {
	for name, o := range serviceUnits() {
		t.Run(name, func(t *testing.T) {
			unit, err := o.unitText()
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("docs", "units", filepath.FromSlash(name))
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(unit), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || unit != string(want) {
				t.Errorf("%v: %s is not\n%s", err, golden, unit)
			}
			verifyUnit(t, name, unit)
		})
	}
}

// verifyUnit asks systemd about a unit, where it is installed. The program must be there for it.
func verifyUnit(t *testing.T, name, unit string) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze is not installed; the unit was compared with its file only")
		return
	}
	path := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(unit, "/usr/local/bin/holdfast", "/bin/true")), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"verify", path}
	if strings.HasPrefix(name, "user/") {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.Command(analyze, args...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), filepath.Base(name)+":") {
		t.Errorf("systemd-analyze verify: %v: %s", err, out)
	}
}

// Test43Exposure: what systemd counts as exposed stays below what was promised, where it can be counted.
func Test43Exposure(t *testing.T) {
	for name, most := range map[string]string{"holdfast.service": "20", "holdfast-agent.service": "40"} {
		o := serviceUnits()[name]
		unit, err := o.unitText()
		if err != nil {
			t.Fatal(err)
		}
		// The settings that count most, whether or not systemd is here.
		for _, want := range []string{"NoNewPrivileges=yes\n", "CapabilityBoundingSet=\n", "ProtectSystem=strict\n", "SystemCallArchitectures=native\n", "UMask=0077\n", "PrivateDevices=yes\n"} {
			if !strings.Contains(unit, want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
		analyze, err := exec.LookPath("systemd-analyze")
		if err != nil {
			t.Log("systemd-analyze is not installed; the exposure was not counted")
			continue
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(unit, "/usr/local/bin/holdfast", "/bin/true")), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold="+most, path).CombinedOutput(); err != nil {
			t.Errorf("%s is exposed by more than %s/10: %v: %.2000s", name, most, err, out)
		}
	}
}

// Test43DryRun: what service would do is printed and not done, and what cannot be is refused.
func Test43DryRun(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"install --dry-run", 0, []string{"# write /etc/holdfast/secret.key (0600), unless it is there: a new key\n", "# write /etc/systemd/system/holdfast.service (0644)\n[Unit]", "MemoryDenyWriteExecute=yes",
			"# write /etc/systemd/system/holdfast.service.d/loopback-only.conf (0644)\n[Service]\nIPAddressDeny=any", "# run systemctl daemon-reload\n# run systemctl enable --now holdfast.service\n"}},
		{"install --user --dry-run", 0, []string{"# write " + home + "/.config/systemd/user/holdfast.service (0644)", "# run systemctl --user enable --now holdfast.service\n"}},
		{"install --agent --url https://box:8421 --dir /srv/shop --allow-call mcp.box:443 --dry-run", 0, []string{"holdfast-agent.service (0644)", "ReadWritePaths=/srv/shop",
			"--agent --url https://box:8421 --dir /srv/shop --allow-call mcp.box:443"}},
		{"install --agent --url https://box:8421 --dir /srv/shop --enrol-file -", cli.CodeUsage, []string{"nobody to type"}},
		{"uninstall --dry-run", 0, []string{"# run systemctl disable --now holdfast.service\n# remove /etc/systemd/system/holdfast.service\n", "loopback-only.conf", "# run systemctl daemon-reload\n"}},
		{"uninstall --agent --user --dry-run", 0, []string{"# remove " + home + "/.config/systemd/user/holdfast-agent.service\n"}},
		{"help", 0, []string{"holdfast service install"}},
		{"", cli.CodeUsage, []string{"install, uninstall"}},
		{"start", cli.CodeUsage, []string{"start"}},
		{"install x", cli.CodeUsage, []string{"got x"}},
		{"install --agent", cli.CodeUsage, []string{"--url URL"}},
		{"install --dir /srv", cli.CodeUsage, []string{"are for --agent"}},
		{"install --agent --url http://elsewhere:1 --dir /srv", cli.CodeRefused, []string{"http"}},
		{"install --agent --url https://box:1 --dir /a;b --dry-run", cli.CodeUsage, []string{"without quoting"}},
		{"uninstall --dir /srv", cli.CodeUsage, []string{"dir"}},
	} {
		var out, failure bytes.Buffer
		err := run(t.Context(), append([]string{"service"}, strings.Fields(c.args)...), strings.NewReader(""), &out, &failure)
		said := out.String()
		if err != nil {
			said += err.Error()
		}
		if exitCode(err) != c.code {
			t.Errorf("service %s: exit %d, not %d: %v", c.args, exitCode(err), c.code, err)
		}
		for _, want := range c.says {
			if !strings.Contains(said, want) {
				t.Errorf("service %s does not say %q:\n%.3000s", c.args, want, said)
			}
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) != 0 {
		t.Errorf("a dry run left %v, %v", left, err)
	}
}

// Test43Steps: what is not a dry run writes and removes its files as they were printed, keeps a key that is there, and stops where a
// command fails.
func Test43Steps(t *testing.T) {
	dir := t.TempDir()
	unit, key := filepath.Join(dir, "systemd", "x.service"), filepath.Join(dir, "holdfast", "secret.key")
	var said bytes.Buffer
	do := func(s serviceStep) error { return s.do(t.Context(), &said, &said) }
	for _, s := range []serviceStep{{write: unit, text: "[Unit]\n", mode: 0o644}, {write: unit, text: "[Unit]\nx\n", mode: 0o644}, {write: key, mode: 0o600, key: true}, {run: []string{"true"}}, {run: []string{"false"}, try: true}} {
		if err := do(s); err != nil {
			t.Fatal(err)
		}
	}
	first, err := os.ReadFile(key)
	if err != nil || len(first) != 32 {
		t.Fatalf("%d bytes, %v", len(first), err)
	}
	if err := do(serviceStep{write: key, mode: 0o600, key: true}); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(key); err != nil || !bytes.Equal(first, again) {
		t.Errorf("the key was written anew: %v", err)
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if text, err := os.ReadFile(unit); err != nil || string(text) != "[Unit]\nx\n" {
		t.Errorf("%q, %v", text, err)
	}
	if err := do(serviceStep{run: []string{"false"}}); err == nil {
		t.Error("a command that fails is no failure")
	}
	for range 2 {
		if err := do(serviceStep{remove: unit}); err != nil {
			t.Error(err)
		}
	}
	if want := "wrote " + unit + "\nwrote " + unit + "\nwrote " + key + "\nremoved " + unit + "\n"; said.String() != want {
		t.Errorf("said %q", said.String())
	}
}
