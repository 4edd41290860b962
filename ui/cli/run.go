package cli

import (
	"context"
	"io"

	"holdfast/ui/api/client"
)

// IO is where a command reads and writes.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	// Salvage reads a data directory that no appliance has open; nil refuses.
	Salvage func(ctx context.Context, s Salvage, out io.Writer) error
	// Doctor looks at a data directory that no appliance has open; nil is none.
	Doctor func(ctx context.Context, data string, deep bool) (client.Doctor, error)
	// Compact writes the store of a data directory that no appliance has open without its free pages; nil refuses.
	Compact func(ctx context.Context, data string, out io.Writer) error
	// Bundle is what there is of a support bundle where no appliance runs; nil is nothing.
	Bundle func(ctx context.Context, data string) (client.Bundle, error)
}

// usageText is what help prints.
const usageText = `Holdfast is an appliance on which people run coding agents with local models.

  holdfast [serve] [flags]          serve the web interface; holdfast serve -h lists the flags
  holdfast chat [flags] [PROMPT|-]  send a prompt and print the answer
  holdfast export CHAT|--all DIR [flags]
                                    transcripts, to read or to import; with --salvage out of
                                    a damaged store
  holdfast import FILE|-            a chat from an exported file
  holdfast token create|list|revoke|login [flags]
                                    API tokens, and one-time login links
  holdfast user list|add|role|password|disable|enable|remove [flags]
                                    people, for admins
  holdfast context list|show|add|remove|refresh [PATH...] [flags]
                                    what an agent reads beside its files, or with
                                    --workspace the appliance in a workspace
  holdfast doctor [flags]           look at store, disk, model server, sandbox and limits;
                                    with --bundle FILE for support, with --compact make the
                                    store smaller
  holdfast mcp [flags]              an MCP server on standard input and output, for other programs
  holdfast service install|uninstall [--agent] [--user] [--dry-run]
                                    systemd units
  holdfast version [--json|--modules]
  holdfast help                     this text
`

// Run runs one command. An *Exit says with which code the process is to end; any other error is CodeFailed.
func Run(ctx context.Context, command string, args []string, std IO) error {
	switch command {
	case "help", "-h", "--help", "-help":
		_, err := io.WriteString(std.Out, usageText)
		return err
	case "chat":
		return runChat(ctx, args, std)
	case "context":
		return runContext(ctx, args, std)
	case "doctor":
		return runDoctor(ctx, args, std)
	case "export":
		return runExport(ctx, args, std)
	case "import":
		return runImport(ctx, args, std)
	case "token":
		return runToken(ctx, args, std)
	case "user":
		return runUser(ctx, args, std)
	}
	return usage("there is no command " + command + "; holdfast help lists the commands")
}
