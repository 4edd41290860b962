package mcp

import (
	"errors"
	"io"
	"os"
	"sync"
)

// maxUnread is how much a program may leave unread, besides what its pipe holds, before nothing more is sent to it.
const maxUnread = 1 << 20

var errDeaf = errors.New("it does not read what it is sent")

// input is a program's standard input for the library, which waits for its writes whatever else ends: a program that reads nothing would hold
// it for ever, and all that wait behind it. So a write is taken at once, and the program gets it as fast as it reads.
type input struct {
	to io.WriteCloser
	// wake has room for one; gone is closed when nothing is written any more.
	wake chan struct{}
	gone chan struct{}

	mu     sync.Mutex // guards the rest
	unread []byte
	err    error
}

func newInput(to io.WriteCloser) *input {
	i := &input{to: to, wake: make(chan struct{}, 1), gone: make(chan struct{})}
	go i.run()
	return i
}

// Write takes a message, of any size, unless too much waits already or the input has ended.
func (i *input) Write(b []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err != nil {
		return 0, i.err
	}
	if len(i.unread) > maxUnread {
		return 0, errDeaf
	}
	i.unread = append(i.unread, b...)
	i.rouse()
	return len(b), nil
}

// Close ends the input, also under a write that the program does not read, and returns when nothing is written any more.
func (i *input) Close() error {
	i.fail(os.ErrClosed)
	err := i.to.Close()
	i.rouse()
	<-i.gone
	return err
}

func (i *input) run() {
	defer close(i.gone)
	for range i.wake {
		next, err := i.next()
		if err != nil {
			return
		}
		if _, err := i.to.Write(next); err != nil {
			i.fail(err)
			return
		}
	}
}

func (i *input) next() ([]byte, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	next := i.unread
	i.unread = nil
	return next, i.err
}

// fail ends the input with the first reason for it.
func (i *input) fail(why error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err == nil {
		i.err, i.unread = why, nil
	}
}

// rouse never waits: one wake is enough for all that waits.
func (i *input) rouse() {
	select {
	case i.wake <- struct{}{}:
	default:
	}
}
