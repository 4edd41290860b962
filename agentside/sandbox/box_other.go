//go:build !linux || !(amd64 || arm64)

package sandbox

import (
	"context"
	"errors"
	"runtime"

	"holdfast/engine/chat"
)

var errNoSandbox = errors.New("there is no sandbox on " + runtime.GOOS + "/" + runtime.GOARCH)

// New gives a Box that confines nothing and says so.
func New(_ context.Context, o Options) (*Box, error) {
	return &Box{opts: o, level: chat.SandboxNone, reason: errNoSandbox.Error()}, nil
}

// Running is a confined command; there is none here.
type Running struct{ PID int }

// Start refuses.
func (b *Box) Start(Command) (*Running, error) { return nil, errNoSandbox }

// Wait gives the error of Start.
func (r *Running) Wait() (code, signal int, err error) { return -1, 0, errNoSandbox }

// Reap has nothing to do.
func (r *Running) Reap() error { return nil }

// Child refuses.
func Child() error { return errNoSandbox }

// Landlock is 0: there is none here.
func Landlock() int { return 0 }

func memory() int64 { return 0 }
