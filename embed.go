package main

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"holdfast/ui/cli"
)

// pages is the offline help: the documentation of this very version, and the licence. The static files of the web interface are embedded
// where they are served, in ui/static.
//
//go:embed docs/*.md LICENSE
var pages embed.FS

// printHelp prints one page of the offline help, or the list of them.
func printHelp(topic string, stdout io.Writer) error {
	name := "docs/" + topic + ".md"
	if topic == "licence" || topic == "license" {
		name = "LICENSE"
	}
	text, err := fs.ReadFile(pages, name)
	if err == nil {
		_, err = stdout.Write(text)
		return err
	}
	entries, err := fs.ReadDir(pages, "docs")
	if err != nil {
		return err
	}
	var topics []string
	for _, e := range entries {
		topics = append(topics, strings.TrimSuffix(e.Name(), ".md"))
	}
	return &cli.Exit{Code: cli.CodeNotFound, Message: fmt.Sprintf("there is no help about %q; there is: %s, licence", topic, strings.Join(topics, ", "))}
}
