//go:build linux && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x)

package kv

// initialMap is address space only. Growing the map waits for all readers and stops new ones, so it is made large at once.
const initialMap = 8 << 30
