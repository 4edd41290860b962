package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"holdfast/engine/health"
	"holdfast/kv"
	"holdfast/ui/cli"
)

// compact writes the store of a data directory without its free pages, while nobody else has it.
func compact(ctx context.Context, data string, out io.Writer) (err error) {
	if _, err := os.Stat(data); err != nil {
		return &cli.Exit{Code: cli.CodeNotFound, Message: "doctor --compact: there is no data directory: " + err.Error()}
	}
	lock, err := kv.LockDir(data, kv.LockInfo{PID: os.Getpid(), Started: time.Now(), BootID: bootID(), Version: version})
	if inUse := new(kv.ErrInUse); errors.As(err, &inUse) {
		return &cli.Exit{Code: cli.CodeInUse, Message: inUse.Error() + "; stop it first"}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	done, err := kv.Compact(ctx, data)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return &cli.Exit{Code: cli.CodeNotFound, Message: "doctor --compact: there is no store in " + data}
	case errors.Is(err, kv.ErrDamaged):
		return fmt.Errorf("%w; nothing was changed; read what can be read with: holdfast export --all DIR --salvage", err)
	case errors.Is(err, context.Canceled):
		return &cli.Exit{Code: cli.CodeCtrlC, Message: "doctor --compact: stopped; nothing was changed"}
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(out, "The store has %s now; it had %s. Every record of it was compared.\n", health.Size(done.After), health.Size(done.Before))
	return err
}
