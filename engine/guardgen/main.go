// Command guardgen writes the guarded form of a room: for each of its commands a method that asks the policy first and measures.
// A room calls it by "//go:generate go run holdfast/engine/guardgen".
//
// A command is an exported method of the room (type Room, or -type) of the form
//
//	func (r *Room) Name(ctx context.Context, p chat.Principal, in NameInput) (NameOutput, error)
//
// whose policy is the package's variable policyName; without it the generated file does not compile. Any other exported method
// that takes a chat.Principal is a command that missed the form, so it is refused unless its doc comment has a line "//guard:none"
// followed by the reason.
//
// Caveats: it only parses, types are compared by their import path and name; the output (guarded_gen.go) is ordered by name and
// changes only when a command does.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const output = "guarded_gen.go"

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "guardgen:", err)
		os.Exit(1)
	}
}

func run(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("guardgen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	room := flags.String("type", "Room", "the room's `type`")
	dir := flags.String("dir", ".", "the room's `directory`")
	check := flags.Bool("check", false, "write nothing; fail when "+output+" is not what would be written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	source, err := generate(*dir, *room)
	if err != nil {
		return err
	}
	path := filepath.Join(*dir, output)
	have, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if bytes.Equal(have, source) {
		return nil
	}
	if *check {
		return fmt.Errorf("%s is out of date; run go generate", path)
	}
	return os.WriteFile(path, source, 0o644)
}
