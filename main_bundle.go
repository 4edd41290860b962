package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"

	"holdfast/engine/health"
	"holdfast/engine/metric"
	"holdfast/engine/seal"
	"holdfast/ui/api/client"
)

// packer makes the files of a support bundle. Its fields are nil where no appliance runs.
type packer struct {
	// data has the crash files.
	data string
	// settings are those of the start, each with its source; kept the last lines of the log.
	settings func() []client.Setting
	kept     *logTail
	metrics  *metric.Registry
	// hidden takes known secrets out of all files.
	hidden *seal.Filter
}

// maxCrash bounds one crash file in a bundle, maxStacks the dump of all goroutines.
const (
	maxCrash  = 256 << 10
	maxStacks = 4 << 20
)

// pack gives all files, cleaned. What could not be had is said in its file's place, so that nobody takes it for empty.
func (k packer) pack(ctx context.Context, found []health.Line) []health.File {
	files := []health.File{{Name: "version.txt", Text: k.version()}, {Name: "doctor.txt", Text: doctorText(found)}}
	if k.settings != nil {
		files = append(files, health.File{Name: "configuration.json", Text: k.configuration()})
	}
	if k.kept != nil {
		files = append(files, health.File{Name: "log.txt", Text: k.kept.text()})
	}
	if k.metrics != nil {
		files = append(files, health.File{Name: "goroutines.txt", Text: stacks()}, health.File{Name: "metrics.txt", Text: k.metrics.Text(ctx)})
	}
	files = append(files, k.crashes()...)
	for i := range files {
		if k.hidden != nil {
			files[i].Text = []byte(k.hidden.Clean(string(files[i].Text)))
		}
	}
	return files
}

func (k packer) version() []byte {
	var b bytes.Buffer
	// A buffer takes everything, and the flags are right; without build information there are no modules to list.
	for _, args := range [][]string{nil, {"--modules"}} {
		if err := printVersion(args, &b); err != nil {
			fmt.Fprintln(&b, err)
		}
	}
	return b.Bytes()
}

func doctorText(found []health.Line) []byte {
	var b bytes.Buffer
	for _, l := range found {
		fmt.Fprintf(&b, "%-8s %s: %s", l.State, l.Name, l.Found)
		if l.Do != "" {
			fmt.Fprintf(&b, " (%s)", l.Do)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// configuration is what counts of each setting, and where it came from. What people wrote for models is left out.
func (k packer) configuration() []byte {
	settings := slices.Clone(k.settings())
	for i, s := range settings {
		if s.Key == "site.plan_mode_instructions" {
			settings[i].Value = fmt.Sprintf("(%d bytes)", len(s.Value))
		}
	}
	text, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return []byte(err.Error())
	}
	return append(text, '\n')
}

func stacks() []byte {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 2); err != nil {
		fmt.Fprintln(&b, err)
	}
	return b.Bytes()[:min(b.Len(), maxStacks)]
}

// crashes are the crash files, the newest last.
func (k packer) crashes() []health.File {
	dir := filepath.Join(k.data, "crash")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []health.File{{Name: "crash/unreadable.txt", Text: []byte(err.Error())}}
	}
	var out []health.File
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".txt") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			text = []byte(err.Error())
		}
		out = append(out, health.File{Name: "crash/" + e.Name(), Text: text[:min(len(text), maxCrash)]})
	}
	return out[max(0, len(out)-keepCrashes):]
}

// bundled is a support bundle without an appliance: what a look at the data directory finds, and the crash files.
func bundled(ctx context.Context, data string) (client.Bundle, error) {
	found, err := examine(ctx, data, false)
	if err != nil {
		return client.Bundle{}, err
	}
	var lines []health.Line
	for _, c := range found.Checks {
		lines = append(lines, health.Line{Name: c.Name, State: health.LineState(c.State), Found: c.Found, Do: c.Do})
	}
	var out client.Bundle
	for _, f := range (packer{data: data}).pack(ctx, lines) {
		out.Files = append(out.Files, client.BundleFile(f))
	}
	return out, nil
}
