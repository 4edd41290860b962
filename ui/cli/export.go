package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

const exportUsage = `holdfast export CHAT [--format markdown|json] [--no-files]
holdfast export --all DIR [--format markdown|json] [--no-files] [--salvage]
holdfast export config
holdfast import FILE|-

export prints a chat's transcript on stdout, or writes one file per chat into a new or empty folder, archived chats too. markdown is to be
read, json (the default with --all) can be imported; it has the bytes of
attached files, 40 MiB at most, or with --no-files none. export config prints the site configuration as a file that --config accepts, without
secrets. --salvage reads what can be read of a damaged store, while no appliance runs: what is missing stands at its place in the
transcripts and in LOST.txt, and the exit code is 6. import makes a chat at rest of a json file, and prints its id.
All take --data DIR or --server URL, which say where the appliance is.
`

// exportCommand is what the flags of export say.
type exportCommand struct {
	place
	all, format string
	noFiles     bool
	salvage     bool
	std         IO
}

// Salvage is what export --salvage asks for: the Chats of a data directory, into files of the folder Dir.
type Salvage struct {
	Data, Dir string
	// Format and Ending are of the files. Bare leaves the bytes of attached files out.
	Format, Ending string
	Bare           bool
}

func runExport(ctx context.Context, args []string, std IO) error {
	x := exportCommand{std: std}
	set := flag.NewFlagSet("export", flag.ContinueOnError)
	x.flags(set)
	set.StringVar(&x.all, "all", "", "")
	set.StringVar(&x.format, "format", "", "")
	set.BoolVar(&x.noFiles, "no-files", false, "")
	set.BoolVar(&x.salvage, "salvage", false, "")
	rest, err := parse(set, args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(std.Out, exportUsage)
		return err
	}
	if err != nil {
		return err
	}
	if x.format != "" && x.format != client.ExportMarkdown && x.format != client.ExportJSON {
		return usage("--format is markdown or json")
	}
	if (x.all == "") != (len(rest) == 1) || len(rest) > 1 {
		return usage("export takes the id of a chat, or --all with a folder")
	}
	if x.salvage {
		return salvageFailed(x.salvaged(ctx))
	}
	api, err := x.connect()
	if err != nil {
		return x.failed("export", err)
	}
	defer api.Close()
	if x.all != "" {
		return x.failed("export", x.everything(ctx, api))
	}
	if rest[0] == "config" {
		return x.failed("export config", x.config(ctx, api))
	}
	return x.failed("export "+rest[0], x.one(ctx, api, chat.ID(rest[0])))
}

// one prints a transcript.
func (x *exportCommand) one(ctx context.Context, api *client.Client, id chat.ID) error {
	format := x.format
	if format == "" {
		format = client.ExportMarkdown
	}
	text, err := x.exported(ctx, api, id, format)
	if err != nil {
		return err
	}
	if format == client.ExportMarkdown {
		text = []byte(plain(string(text)))
	}
	_, err = x.std.Out.Write(text)
	return err
}

func (x *exportCommand) exported(ctx context.Context, api *client.Client, id chat.ID, format string) ([]byte, error) {
	open := func() (io.ReadCloser, error) { return api.Export(ctx, id, format) }
	if x.noFiles && format == client.ExportJSON {
		open = func() (io.ReadCloser, error) { return api.ExportBare(ctx, id) }
	}
	r, err := open()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r)
	return text, errors.Join(err, r.Close())
}

// salvaged reads the data directory itself.
func (x *exportCommand) salvaged(ctx context.Context) error {
	switch {
	case x.all == "":
		return usage("export --salvage takes --all with a folder")
	case x.server != "":
		return usage("export --salvage reads a data directory on this machine, so it takes no --server")
	case x.data == "":
		return usage("there is no home directory; name the data directory with --data")
	case x.std.Salvage == nil:
		return usage("this program cannot salvage")
	}
	if there, err := os.ReadDir(x.all); err == nil && len(there) > 0 {
		return usage("the folder " + x.all + " is not empty")
	}
	s := Salvage{Data: x.data, Dir: x.all, Bare: x.noFiles}
	s.Format, s.Ending = x.file()
	return x.std.Salvage(ctx, s, x.std.Out)
}

// salvageFailed leaves the store's own errors as they are: they have exit codes.
func salvageFailed(err error) error {
	var exit *Exit
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return exit
	case errors.Is(err, context.Canceled):
		return &Exit{Code: CodeCtrlC}
	}
	return fmt.Errorf("export --salvage: %w", err)
}

// file says how the files of a folder are written.
func (x *exportCommand) file() (format, ending string) {
	if x.format == client.ExportMarkdown {
		return x.format, ".md"
	}
	return client.ExportJSON, ".json"
}

// folder makes the folder, which must be empty, and says how the files in it are written.
func (x *exportCommand) folder() (format, ending string, err error) {
	if err := os.MkdirAll(x.all, 0o700); err != nil {
		return "", "", err
	}
	if there, err := os.ReadDir(x.all); err != nil || len(there) > 0 {
		return "", "", errors.Join(err, usage("the folder "+x.all+" is not empty"))
	}
	format, ending = x.file()
	return format, ending, nil
}

// everything writes each chat into a file of its own. One that cannot be read does not keep the others back, but is said in the end.
func (x *exportCommand) everything(ctx context.Context, api *client.Client) error {
	format, ending, err := x.folder()
	if err != nil {
		return err
	}
	done, failed := 0, []error{}
	for _, query := range []string{"", "archived:true"} {
		q := client.ChatQuery{Text: query, Limit: 200}
		for more := true; more; {
			page, err := api.Chats(ctx, q)
			if err != nil {
				return err
			}
			for _, c := range page.Chats {
				q.AfterID = c.ID
				text, err := x.exported(ctx, api, c.ID, format)
				if err == nil {
					err = os.WriteFile(filepath.Join(x.all, string(c.ID)+ending), text, 0o600)
				}
				if err != nil {
					failed = append(failed, fmt.Errorf("chat %s: %w", c.ID, err))
					continue
				}
				done++
			}
			more = page.HasMore
		}
	}
	if _, err := fmt.Fprintf(x.std.Out, "%d chats written to %s\n", done, x.all); err != nil {
		return err
	}
	return errors.Join(failed...)
}

func runImport(ctx context.Context, args []string, std IO) error {
	var where place
	set := flag.NewFlagSet("import", flag.ContinueOnError)
	where.flags(set)
	rest, err := parse(set, args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(std.Out, exportUsage)
		return err
	}
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usage("import takes one file, or - for stdin")
	}
	file, err := readImport(rest[0], std.In)
	if err != nil {
		return err
	}
	api, err := where.connect()
	if err != nil {
		return where.failed("import", err)
	}
	defer api.Close()
	c, err := api.Import(ctx, file)
	if err != nil {
		return where.failed("import "+rest[0], err)
	}
	_, err = fmt.Fprintln(std.Out, c.ID)
	return err
}

// maxImport is what an appliance takes, in bytes.
const maxImport = 64 << 20

func readImport(name string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, &Exit{Code: CodeNotFound, Message: "import: " + err.Error()}
		}
		defer f.Close()
		in = f
	}
	file, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err == nil && len(file) > maxImport {
		return nil, usage("the file is larger than 64 MiB")
	}
	return file, err
}
