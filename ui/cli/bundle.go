package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// bundleRuns is how many model calls of a chat go into a bundle with it.
const bundleRuns = 50

// bundle writes a support bundle into a new file, after it has said what is in it. With include the chat of that id is in it, too.
func (p place) bundle(ctx context.Context, std IO, file, include string) error {
	// Nobody waits for a bundle that cannot be written.
	if _, err := os.Lstat(file); err == nil {
		return usage("doctor --bundle: " + file + " is there already; name a new file")
	}
	b, err := p.bundled(ctx, std, chat.ID(include))
	if err != nil {
		return err
	}
	if include == "" {
		err = say(std.Err, "In the bundle, without secrets, prompts and messages:\n")
	} else {
		err = say(std.Err, "In the bundle, without secrets, but with all that chat "+include+" says:\n")
	}
	for _, f := range b.Files {
		err = errors.Join(err, say(std.Err, fmt.Sprintf("  %9d bytes  %s\n", len(f.Text), plain(f.Name))))
	}
	if err != nil {
		return err
	}
	return writeBundle(file, b)
}

func say(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

// bundled asks the appliance; where none runs on this machine's data directory, that is looked at itself.
func (p place) bundled(ctx context.Context, std IO, include chat.ID) (client.Bundle, error) {
	api, err := p.connect()
	var b client.Bundle
	if err == nil {
		defer api.Close()
		if b, err = api.Bundle(ctx); err == nil && include != "" {
			err = addChat(ctx, api, &b, include)
		}
	}
	err = p.failed("doctor --bundle", err)
	var exit *Exit
	if errors.As(err, &exit) && exit.Code == CodeNobody && p.server == "" && std.Bundle != nil && include == "" {
		return std.Bundle(ctx, p.data)
	}
	return b, err
}

// addChat adds a chat whole, with what was asked of the model servers for it.
func addChat(ctx context.Context, api *client.Client, b *client.Bundle, id chat.ID) error {
	r, err := api.ExportBare(ctx, id)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	runs, err := api.Runs(ctx, id, "", bundleRuns)
	if err != nil {
		return err
	}
	calls, err := json.MarshalIndent(runs, "", " ")
	b.Files = append(b.Files, client.BundleFile{Name: "chat/transcript.json", Text: text}, client.BundleFile{Name: "chat/model-calls.json", Text: calls})
	return err
}

// writeBundle makes the file, for its owner alone; half a file does not stay.
func writeBundle(file string, b client.Bundle) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return &Exit{Code: CodeNotFound, Message: "doctor --bundle: " + err.Error()}
	}
	if err != nil {
		return fmt.Errorf("doctor --bundle: %w", err)
	}
	err = errors.Join(b.WriteZip(f), f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("doctor --bundle: %w", errors.Join(err, os.Remove(file)))
	}
	return nil
}
