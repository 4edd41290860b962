//go:build !linux

package main

import "io"

// isJournal: systemd's journal is on Linux only.
func isJournal(io.Writer, string) bool { return false }
