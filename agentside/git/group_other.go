//go:build !unix

package git

import "os/exec"

const nonblock = 0

func ownGroup(*exec.Cmd) {}

// killGroup has nothing to do where there is no sandbox.
func killGroup(int) {}
