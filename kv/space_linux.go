package kv

import (
	"fmt"
	"syscall"
)

// Types of file systems whose locks and mapped memory are not dependable (statfs(2)).
const (
	typeNFS   = 0x6969
	typeSMB   = 0x517b
	typeSMB2  = 0xfe534d42
	typeCIFS  = 0xff534d42
	typeFUSE  = 0x65735546
	typeAFS   = 0x5346414f
	typeCeph  = 0x00c36400
	type9P    = 0x01021997
	typeCodaF = 0x73757245
)

var networkTypes = map[uint32]string{typeNFS: "NFS", typeSMB: "SMB", typeSMB2: "SMB", typeCIFS: "SMB", typeFUSE: "FUSE", typeAFS: "AFS",
	typeCeph: "Ceph", type9P: "9P", typeCodaF: "Coda"}

// networkFileSystem names the kind of a network file system that holds dir, "" for a local one.
func networkFileSystem(dir string) (string, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", fmt.Errorf("kv: look at the file system of %s: %w", dir, err)
	}
	return networkTypes[uint32(st.Type)], nil
}
