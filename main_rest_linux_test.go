package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// fileMemory is how much of files is mapped into this process and in memory, in kB.
func fileMemory(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "RssFile:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb
}

func TestRestDropsTheProgram(t *testing.T) {
	before := fileMemory(t)
	newRest().giveBack()
	// How much comes back at once is the kernel's choice: it maps as large a piece as it has in one.
	if after := fileMemory(t); after >= before {
		t.Errorf("%d kB of files were in memory, %d are", before, after)
	}
}
