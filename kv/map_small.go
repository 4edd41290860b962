//go:build !windows && !(linux && (amd64 || arm64 || loong64 || mips64 || mips64le || ppc64 || ppc64le || riscv64 || s390x))

package kv

// initialMap is a compromise where address space is short.
const initialMap = 256 << 20
