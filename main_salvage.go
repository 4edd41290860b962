package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/seal"
	"holdfast/kv"
	"holdfast/ui/api"
	"holdfast/ui/cli"
)

// lostFile is the list, in the folder of a salvage, of what could not be read.
const lostFile = "LOST.txt"

// salvager writes what can be read of a damaged store into a folder.
type salvager struct {
	cli.Salvage
	store *kv.Salvage
	make  engine.Salvager
	// list is what LOST.txt says, damaged how many Chats are not whole, written how many there are.
	list             bytes.Buffer
	damaged, written int
}

// salvage reads the store of a data directory, however broken, and changes nothing in it. When anything is missing, the process ends with
// the code of a damaged store.
func salvage(ctx context.Context, s cli.Salvage, out io.Writer) (err error) {
	if _, err := os.Stat(s.Data); err != nil {
		return &cli.Exit{Code: cli.CodeNotFound, Message: "export --salvage: " + err.Error()}
	}
	lock, err := kv.LockDir(s.Data, kv.LockInfo{PID: os.Getpid(), Started: time.Now(), BootID: bootID(), Version: version})
	switch inUse := new(kv.ErrInUse); {
	case errors.As(err, &inUse):
		return &cli.Exit{Code: cli.CodeInUse, Message: inUse.Error() + "; stop it first"}
	case err == nil:
		defer func() { err = errors.Join(err, lock.Close()) }()
	case !errors.Is(err, kv.ErrReadOnly):
		return err
	}
	// Where nobody can write the lock, nobody can write the store.
	x := &salvager{Salvage: s}
	x.store, err = kv.OpenSalvage(ctx, s.Data)
	if errors.Is(err, os.ErrNotExist) {
		return &cli.Exit{Code: cli.CodeNotFound, Message: "export --salvage: there is no store in " + s.Data}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.store.Close()) }()
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	x.make = engine.Salvager{Open: x.store.OpenFile, Clean: x.hidden().Clean, Bare: s.Bare || s.Ending == ".md"}
	for _, id := range x.store.Chats() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := x.chat(id); err != nil {
			return err
		}
	}
	return x.end(out)
}

// hidden opens the secrets of the store, so that they are taken out of what is written.
func (x *salvager) hidden() *seal.Filter {
	f, sealed, lost := &seal.Filter{}, x.store.Sealed(), 0
	key, err := seal.Find(x.Data)
	for name, b := range sealed {
		if err != nil {
			lost++
			continue
		}
		if secret, err := key.Open(name, b); err == nil {
			f.AddRecord(name, secret)
		} else {
			lost++
		}
	}
	if lost > 0 {
		fmt.Fprintf(&x.list, "note: %d secrets of the store cannot be opened without its key; where one stands in a text, it was not taken out\n", lost)
	}
	return f
}

// chat writes the file of one Chat; that of one that is not whole says so in its name.
func (x *salvager) chat(id chat.ID) error {
	found, err := x.store.Chat(id)
	if err != nil {
		return err
	}
	t, lost, left := x.make.Transcript(found)
	name := string(id)
	if len(lost) > 0 {
		x.damaged++
		name += ".damaged"
	}
	for _, d := range lost {
		at := ""
		if d.Message > 0 {
			at = fmt.Sprintf(", message %d", d.Message)
		}
		fmt.Fprintf(&x.list, "chat %s%s: %s: %s\n", id, at, d.Noun, d.Reason)
	}
	if left {
		fmt.Fprintf(&x.list, "note: chat %s has more attached files than an import takes; their bytes stand in the data directory alone\n", id)
	}
	var b bytes.Buffer
	if err := api.WriteTranscript(&b, t, x.Format, time.Now()); err != nil {
		return err
	}
	x.written++
	return os.WriteFile(filepath.Join(x.Dir, name+x.Ending), b.Bytes(), 0o600)
}

// end says what was read and what was not.
func (x *salvager) end(out io.Writer) error {
	for _, d := range x.store.Lost {
		fmt.Fprintf(&x.list, "%s: %s; what stood there is not known\n", d.Noun+" "+d.Key, d.Reason)
	}
	if x.store.Doubtful {
		x.list.WriteString("note: the store does not say any more which of its pages count, so chats that were removed may be among these\n")
	}
	if x.list.Len() > 0 {
		if err := os.WriteFile(filepath.Join(x.Dir, lostFile), x.list.Bytes(), 0o600); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "%d chats written to %s\n", x.written, x.Dir); err != nil {
		return err
	}
	if x.damaged == 0 && len(x.store.Lost) == 0 {
		return nil
	}
	return &cli.Exit{Code: cli.CodeDamaged, Message: fmt.Sprintf("export --salvage: %d of %d chats are not whole, and %d places of the store cannot be read; "+
		"%s says what is missing", x.damaged, x.written, len(x.store.Lost), filepath.Join(x.Dir, lostFile))}
}
