package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"holdfast/ui/api/client"
)

const doctorUsage = `holdfast doctor [--json] [--strict] [--deep]
holdfast doctor --bundle FILE [--include-chat ID]
holdfast doctor --compact

doctor asks the running appliance to look at itself and its machine, and without one looks at the data directory, changing nothing. Each
line is ok, warning, failed or skipped. --deep reads every record. The exit code is 1 when something failed, with --strict 10 when there
are warnings. It takes --data DIR or --server URL, which say where the appliance is.

--bundle writes a zip archive for somebody who is to help: versions, settings, this list, the last 1,000 lines of the log, goroutines, metrics
and crashes. No secret, prompt or message is in it, unless --include-chat adds a chat whole. What is in it is listed before it is written.

--compact writes the store anew without the space that is unused in it, while no appliance runs. The copy is compared record by record before it
takes the place of the store, at once.
`

func runDoctor(ctx context.Context, args []string, std IO) error {
	var where place
	set := flag.NewFlagSet("doctor", flag.ContinueOnError)
	where.flags(set)
	asJSON, strict, deep := set.Bool("json", false, ""), set.Bool("strict", false, ""), set.Bool("deep", false, "")
	compact, bundle, include := set.Bool("compact", false, ""), set.String("bundle", "", ""), set.String("include-chat", "", "")
	rest, err := parse(set, args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(std.Out, doctorUsage)
		return err
	}
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usage("doctor takes no arguments, got " + rest[0])
	}
	switch {
	case *include != "" && *bundle == "":
		return usage("--include-chat is for --bundle")
	case *bundle != "" && (*compact || *asJSON || *strict || *deep), *compact && (*asJSON || *strict || *deep):
		return usage("doctor --bundle and doctor --compact stand alone")
	case *bundle != "":
		return where.bundle(ctx, std, *bundle, *include)
	case *compact:
		return where.compact(ctx, std)
	}
	found, err := where.examined(ctx, std, *deep)
	if err != nil {
		return err
	}
	if *asJSON {
		err = json.NewEncoder(std.Out).Encode(found)
	} else {
		err = printChecks(std.Out, found)
	}
	if err != nil {
		return err
	}
	return doctorCode(found, *strict)
}

// examined asks the appliance; where none runs on this machine's data directory, that is looked at itself.
func (p place) examined(ctx context.Context, std IO, deep bool) (client.Doctor, error) {
	api, err := p.connect()
	var found client.Doctor
	if err == nil {
		defer api.Close()
		found, err = api.Doctor(ctx, deep)
	}
	err = p.failed("doctor", err)
	var exit *Exit
	if errors.As(err, &exit) && exit.Code == CodeNobody && p.server == "" && std.Doctor != nil {
		return std.Doctor(ctx, p.data, deep)
	}
	return found, err
}

// compact makes the store of this machine's data directory smaller.
func (p place) compact(ctx context.Context, std IO) error {
	switch {
	case p.server != "":
		return usage("doctor --compact works on a data directory of this machine, so it takes no --server")
	case p.data == "":
		return usage("there is no home directory; name the data directory with --data")
	case std.Compact == nil:
		return usage("this program cannot compact")
	}
	return std.Compact(ctx, p.data, std.Out)
}

func printChecks(out io.Writer, d client.Doctor) error {
	width := 0
	for _, c := range d.Checks {
		width = max(width, len(c.Name))
	}
	for _, c := range d.Checks {
		text := fmt.Sprintf("%-8s %-*s %s", c.State, width, c.Name, c.Found)
		if c.Do != "" {
			text = strings.TrimSuffix(text, ".") + ". " + c.Do
		}
		if _, err := fmt.Fprintln(out, plain(text)); err != nil {
			return err
		}
	}
	return nil
}

// doctorCode is the exit code of a list: its lines have said everything, so nothing more is printed.
func doctorCode(d client.Doctor, strict bool) error {
	warned := false
	for _, c := range d.Checks {
		if c.State == "failed" {
			return &Exit{Code: CodeFailed}
		}
		warned = warned || c.State == "warning"
	}
	if strict && warned {
		return &Exit{Code: CodeNeedsPerson}
	}
	return nil
}
