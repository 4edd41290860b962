//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// try does what a command must not be able to do, and the one thing that it must.
func (p *proof) try(workspace string) error {
	name := filepath.Join(workspace, "proof")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return fmt.Errorf("the workspace cannot be written: %w", err)
	}
	if err := os.Remove(name); err != nil {
		return fmt.Errorf("the workspace cannot be written: %w", err)
	}
	if _, err := os.ReadFile(p.Read); err == nil {
		return errors.New("a file outside of the workspace could be read")
	}
	// Where this lands in a temporary directory of its own it did not get out; who gave the order looks.
	_ = os.WriteFile(p.Write, nil, 0o600)
	for network, address := range map[string]string{"tcp": p.TCP, "unix": p.Socket} {
		if err := reach(network, address); err != nil {
			return err
		}
	}
	if err := reach("unix", p.Abstract); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0, 0, 0, 0); errno == 0 {
		return errors.New("processes can be looked into")
	}
	return nil
}

// reach fails when somebody listens there.
func reach(network, address string) error {
	conn, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return nil
	}
	return errors.Join(fmt.Errorf("%s %s could be reached", network, address), conn.Close())
}
