package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxSecret bounds what is read as a password, in bytes.
const maxSecret = 1000

// readSecret reads one line. On a terminal it asks for it twice and shows nothing of what is typed.
func readSecret(ctx context.Context, std IO, ask string) (string, error) {
	f, ok := std.In.(*os.File)
	if !ok || !IsTerminal(f) {
		return readLine(ctx, std.In)
	}
	restore, err := hideTyping(f)
	if err != nil {
		return "", fmt.Errorf("the terminal shows what is typed, pipe the password in instead: %w", err)
	}
	first, err := askTwice(ctx, std, ask)
	if err = errors.Join(err, restore()); err != nil {
		return "", err
	}
	return first, nil
}

// askTwice asks for a line and for the same line again.
func askTwice(ctx context.Context, std IO, ask string) (string, error) {
	lines := make(chan string)
	// It ends with the process: a read from a terminal cannot be called off.
	go readLines(std.In, lines)
	next := func(ask string) (string, error) {
		fmt.Fprint(std.Err, ask)
		defer fmt.Fprintln(std.Err)
		select {
		case line := <-lines:
			return line, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	first, err := next(ask)
	if err != nil {
		return "", err
	}
	again, err := next("Again: ")
	if err != nil {
		return "", err
	}
	if first != again {
		return "", usage("the two are not the same; nothing was changed")
	}
	return first, nil
}

// readLine reads one line without its end.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := bufio.NewReader(io.LimitReader(in, maxSecret)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		done <- read{strings.TrimRight(line, "\r\n"), err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
