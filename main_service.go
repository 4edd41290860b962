package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"holdfast/engine/seal"
	"holdfast/ui/cli"
)

const serviceUsage = `holdfast service install [--user] [--dry-run]
holdfast service install --agent --url URL --dir DIR [--pin sha256:HEX] [--enrol-file FILE] [--allow-call HOST:PORT] [--user] [--dry-run]
holdfast service uninstall [--agent] [--user] [--dry-run]

Writes the systemd unit of the appliance, or of an agent, and starts it; uninstall stops it and takes the unit away. Data, keys and
users stay. --user does it for the one who asks, without root. --dry-run says what would be done, and does nothing.
`

// serviceOptions are what service was asked for.
type serviceOptions struct {
	agent, user, dry bool
	program          string
	at               agentOptions
}

// serviceStep is one thing that service does: it writes or removes a file, or runs a command. A command that may fail is only a try.
type serviceStep struct {
	write, remove string
	text          string
	mode          fs.FileMode
	// key writes a new key of the secrets instead of a text, unless there is one.
	key bool
	run []string
	try bool
}

// serveService installs or uninstalls a systemd unit.
func serveService(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return &cli.Exit{Code: cli.CodeUsage, Message: "service needs one of install, uninstall"}
	}
	verb, args := args[0], args[1:]
	if verb == "help" || verb == "-h" || verb == "--help" {
		_, err := io.WriteString(stdout, serviceUsage)
		return err
	}
	if verb != "install" && verb != "uninstall" {
		return &cli.Exit{Code: cli.CodeUsage, Message: "service has no command " + verb + ", only install, uninstall"}
	}
	o, err := parseService(verb, args)
	if errors.Is(err, flag.ErrHelp) {
		_, err = io.WriteString(stdout, serviceUsage)
		return err
	}
	if err != nil {
		return err
	}
	steps, err := o.uninstall()
	if verb == "install" {
		steps, err = o.install()
	}
	if err != nil {
		return err
	}
	if o.dry {
		return printSteps(stdout, steps)
	}
	if runtime.GOOS != "linux" {
		return &cli.Exit{Code: cli.CodeFailed, Message: "service needs systemd, which is there on Linux only; --dry-run shows the unit"}
	}
	if !o.user && os.Geteuid() != 0 {
		return &cli.Exit{Code: cli.CodeFailed, Message: "service " + verb + " writes into /etc/systemd/system: run it as root, or with --user for yourself"}
	}
	for _, s := range steps {
		if err := s.do(ctx, stdout, stderr); err != nil {
			return err
		}
	}
	if verb == "install" && !o.user && !o.agent {
		_, err = io.WriteString(stdout, "To sign in: RUNTIME_DIRECTORY=/run/holdfast holdfast token login --data /var/lib/holdfast\n")
	}
	return err
}

func parseService(verb string, args []string) (serviceOptions, error) {
	var o serviceOptions
	flags := flag.NewFlagSet("service "+verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&o.agent, "agent", false, "")
	flags.BoolVar(&o.user, "user", false, "")
	flags.BoolVar(&o.dry, "dry-run", false, "")
	if verb == "install" {
		flags.StringVar(&o.at.url, "url", "", "")
		flags.StringVar(&o.at.dir, "dir", "", "")
		flags.Var(&o.at.pins, "pin", "")
		flags.StringVar(&o.at.enrolFile, "enrol-file", "", "")
		flags.Var(&o.at.calls, "allow-call", "")
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return o, err
	} else if err != nil {
		return o, &cli.Exit{Code: cli.CodeUsage, Message: err.Error()}
	}
	if flags.NArg() > 0 {
		return o, &cli.Exit{Code: cli.CodeUsage, Message: "service " + verb + " takes no arguments, got " + flags.Arg(0)}
	}
	given := o.at.url != "" || o.at.dir != "" || len(o.at.pins)+len(o.at.calls) > 0 || o.at.enrolFile != ""
	switch {
	case verb == "install" && o.agent && (o.at.url == "" || o.at.dir == ""):
		return o, &cli.Exit{Code: cli.CodeUsage, Message: "service install --agent needs --url URL and --dir DIR, as the appliance's Agents page shows them"}
	case o.at.enrolFile == "-":
		return o, &cli.Exit{Code: cli.CodeUsage, Message: "a service has nobody to type a token; give a file with it"}
	case !o.agent && given:
		return o, &cli.Exit{Code: cli.CodeUsage, Message: "--url, --dir, --pin, --enrol-file and --allow-call are for --agent"}
	}
	if o.agent && o.at.url != "" {
		if _, err := o.at.dialling(); err != nil {
			return o, err
		}
	}
	var err error
	o.program, err = os.Executable()
	return o, err
}

// name is that of the unit.
func (o serviceOptions) name() string {
	if o.agent {
		return "holdfast-agent.service"
	}
	return "holdfast.service"
}

// place is the directory of the units.
func (o serviceOptions) place() (string, error) {
	if !o.user {
		return "/etc/systemd/system", nil
	}
	if home := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, "systemd", "user"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".config", "systemd", "user"), err
}

func (o serviceOptions) systemctl(words ...string) []string {
	if o.user {
		return append([]string{"systemctl", "--user"}, words...)
	}
	return append([]string{"systemctl"}, words...)
}

// install gives the steps in their order. The key of the secrets is made when there is none: a unit whose credential is missing does not
// start.
func (o serviceOptions) install() ([]serviceStep, error) {
	place, err := o.place()
	if err != nil {
		return nil, err
	}
	unit, err := o.unitText()
	if err != nil {
		return nil, err
	}
	var steps []serviceStep
	if !o.user {
		steps = append(steps, o.account()...)
		if !o.agent {
			steps = append(steps, serviceStep{write: "/etc/holdfast/secret.key", mode: 0o600, key: true})
		}
	}
	steps = append(steps, serviceStep{write: filepath.Join(place, o.name()), text: unit, mode: 0o644})
	if !o.user && !o.agent {
		steps = append(steps, serviceStep{write: filepath.Join(place, o.name()+".d", "loopback-only.conf"), text: loopbackOnly, mode: 0o644})
	}
	return append(steps, serviceStep{run: o.systemctl("daemon-reload")}, serviceStep{run: o.systemctl("enable", "--now", o.name())}), nil
}

// account makes the system user of a unit, unless it is there.
func (o serviceOptions) account() []serviceStep {
	name := strings.TrimSuffix(o.name(), ".service")
	if _, err := user.Lookup(name); err == nil {
		return nil
	}
	return []serviceStep{{run: []string{"useradd", "--system", "--home-dir", "/var/lib/" + name, "--shell", "/usr/sbin/nologin", name}}}
}

func (o serviceOptions) uninstall() ([]serviceStep, error) {
	place, err := o.place()
	if err != nil {
		return nil, err
	}
	steps := []serviceStep{{run: o.systemctl("disable", "--now", o.name()), try: true}, {remove: filepath.Join(place, o.name())}}
	if !o.user && !o.agent {
		steps = append(steps, serviceStep{remove: filepath.Join(place, o.name()+".d", "loopback-only.conf")}, serviceStep{remove: filepath.Join(place, o.name()+".d")})
	}
	return append(steps, serviceStep{run: o.systemctl("daemon-reload")}), nil
}

// unitText is the unit as it is written.
func (o serviceOptions) unitText() (string, error) {
	var unit strings.Builder
	if o.agent {
		err := o.at.printUnit(&unit, o.program)
		if o.user {
			return forUser(unit.String()), err
		}
		return unit.String(), err
	}
	err := printApplianceUnit(&unit, o.program)
	if o.user {
		return forUser(unit.String()), err
	}
	return unit.String(), err
}

// printSteps says what would be done.
func printSteps(w io.Writer, steps []serviceStep) error {
	var out strings.Builder
	for _, s := range steps {
		switch {
		case s.key:
			fmt.Fprintf(&out, "# write %s (%04o), unless it is there: a new key\n", s.write, s.mode)
		case s.write != "":
			fmt.Fprintf(&out, "# write %s (%04o)\n%s\n", s.write, s.mode, s.text)
		case s.remove != "":
			fmt.Fprintf(&out, "# remove %s\n", s.remove)
		case s.run != nil:
			fmt.Fprintf(&out, "# run %s\n", strings.Join(s.run, " "))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// do does one step and says so.
func (s serviceStep) do(ctx context.Context, stdout, stderr io.Writer) error {
	switch {
	case s.write != "":
		return s.doWrite(stdout)
	case s.remove != "":
		err := os.Remove(s.remove)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			_, err = fmt.Fprintln(stdout, "removed", s.remove)
		}
		return err
	case s.run != nil:
		cmd := exec.CommandContext(ctx, s.run[0], s.run[1:]...)
		cmd.Stdout, cmd.Stderr = stdout, stderr
		if err := cmd.Run(); err != nil && !s.try {
			return fmt.Errorf("%s: %w", strings.Join(s.run, " "), err)
		}
	}
	return nil
}

// doWrite puts the file in place whole: through a new one that is renamed.
func (s serviceStep) doWrite(stdout io.Writer) error {
	text := []byte(s.text)
	if s.key {
		if _, err := os.Lstat(s.write); err == nil {
			return nil
		}
		text = make([]byte, seal.KeySize)
		// crypto/rand.Read never fails.
		_, _ = rand.Read(text)
	}
	if err := os.MkdirAll(filepath.Dir(s.write), 0o755); err != nil {
		return err
	}
	fresh := s.write + ".new"
	err := os.WriteFile(fresh, text, s.mode)
	if err == nil {
		err = os.Chmod(fresh, s.mode)
	}
	if err == nil {
		err = os.Rename(fresh, s.write)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	_, err = fmt.Fprintln(stdout, "wrote", s.write)
	return err
}
