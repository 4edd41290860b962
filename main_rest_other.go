//go:build !linux

package main

// dropProgram leaves the program's pages to the kernel.
func dropProgram() {}
