//go:build unix

package proc

import (
	"errors"
	"syscall"
	"testing"
)

// TestTerminate: a group whose processes die of the first signal before the second is sent was there.
func TestTerminate(t *testing.T) {
	for _, c := range []struct{ first, second, want error }{
		{nil, nil, nil}, {nil, syscall.ESRCH, nil}, {nil, syscall.EPERM, syscall.EPERM}, {syscall.ESRCH, nil, syscall.ESRCH},
	} {
		answers := map[syscall.Signal]error{syscall.SIGTERM: c.first, syscall.SIGCONT: c.second}
		if err := terminate(func(s syscall.Signal) error { return answers[s] }); !errors.Is(err, c.want) {
			t.Errorf("%v, %v: %v, want %v", c.first, c.second, err, c.want)
		}
	}
}
