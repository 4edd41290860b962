//go:build linux && (amd64 || arm64)

package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/engine/chat"
)

// systemDirs are what every command may read and run.
func systemDirs() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store", "/snap",
		"/run/current-system"}
}

// secretFiles of the system are open to its root alone; a command of root's must not read them either.
func secretFiles() []string {
	return []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/etc/ssl/private",
		"/etc/NetworkManager", "/etc/wireguard", "/etc/docker"}
}

// resolverFile names the servers of the network's names; where it is a link it leads out of /etc.
const resolverFile = "/etc/resolv.conf"

// bind is one place of the new root: a tree of the old one, or with kind set a fresh file system.
type bind struct {
	from, to string
	kind     string
	readOnly bool
	devices  bool
	tree     int
}

// enterRoot makes a root that holds what the order opens and nothing else, and goes there. The old one is gone then.
func enterRoot(o *order) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("part from the mounts of others: %w", err)
	}
	binds := o.binds()
	if err := o.clearWays(binds); err != nil {
		return err
	}
	// All is opened before anything is laid over the old root.
	for i := range binds {
		if err := binds[i].open(o.Shared); err != nil {
			return fmt.Errorf("open %s: %w", binds[i].to, err)
		}
	}
	root, err := newRoot()
	if err != nil {
		return fmt.Errorf("make a root: %w", err)
	}
	if err := linkSystem(root); err != nil {
		return err
	}
	for _, b := range binds {
		if err := b.attach(root); err != nil {
			return fmt.Errorf("open %s to the command: %w", b.to, err)
		}
	}
	if err := o.cover(root); err != nil {
		return err
	}
	if err := unix.Fchdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	limitPIDs(o.Processes)
	for _, path := range []string{"/", "/proc"} {
		if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make %s read-only: %w", path, err)
		}
	}
	return unix.Close(root)
}

// hasPIDMax: since Linux 6.14 each process namespace has a limit of its own.
func hasPIDMax() bool {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return false
	}
	major, rest, _ := strings.Cut(unix.ByteSliceToString(name.Release[:]), ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	return errA == nil && errB == nil && (a > 6 || a == 6 && b >= 14)
}

// limitPIDs bounds the processes also of root, whom the limit of a user does not hold. Older kernels have it for the whole machine
// and refuse; what that leaves open is said by openFull.
func limitPIDs(n int64) {
	if hasPIDMax() {
		_ = os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.FormatInt(max(n, 400), 10)), 0)
	}
}

// binds are the places of the new root, those above before those below. What comes later covers what came before.
func (o *order) binds() []bind {
	var all []bind
	for _, dir := range systemDirs() {
		all = append(all, bind{from: dir, to: dir, readOnly: true})
	}
	all = append(all, bind{kind: "proc", to: "/proc"}, bind{kind: "tmpfs", to: "/dev/shm"}, bind{kind: "devpts", to: "/dev/pts"},
		bind{kind: "tmpfs", to: "/run", readOnly: true})
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		all = append(all, bind{from: "/dev/" + name, to: "/dev/" + name, devices: true})
	}
	if o.Profile == chat.ProfileNetwork {
		if real, err := filepath.EvalSymlinks(resolverFile); err == nil && !strings.HasPrefix(real, "/etc/") {
			all = append(all, bind{from: real, to: real, readOnly: true})
		}
	}
	if o.lasting() {
		tmp := filepath.Join(o.Temp, tmpName)
		all = append(all, bind{from: tmp, to: "/tmp"}, bind{from: filepath.Join(o.Temp, homeName), to: o.Home},
			bind{from: o.Temp, to: o.Temp, readOnly: true}, bind{from: tmp, to: tmp})
		if o.Cache != "" {
			all = append(all, bind{from: o.Cache, to: o.Cache})
		}
	} else {
		all = append(all, bind{kind: "tmpfs", to: "/tmp"}, bind{kind: "tmpfs", to: o.Home})
	}
	for _, dir := range o.Read {
		all = append(all, bind{from: dir, to: dir, readOnly: true})
	}
	for _, dir := range o.Write {
		all = append(all, bind{from: dir, to: dir, readOnly: o.Profile == chat.ProfileReadOnly})
	}
	all = append(all, bind{from: o.Workspace, to: o.Workspace, readOnly: o.Profile == chat.ProfileReadOnly})
	all = slices.DeleteFunc(all, func(b bind) bool {
		// The person's own directory as a Workspace is itself, and no other home is laid over it.
		return b.to == o.Home && b.from != o.Workspace && o.Workspace == o.Home || b.from != "" && !isPlace(b.from)
	})
	slices.SortStableFunc(all, func(a, b bind) int { return strings.Count(a.to, "/") - strings.Count(b.to, "/") })
	return all
}

// clearWays moves aside what commands of the same Chat left in its home and its temporary files where others are to be mounted: a
// link there would be refused, and every later command with it.
func (o *order) clearWays(binds []bind) error {
	if !o.lasting() {
		return nil
	}
	for _, own := range binds {
		if own.from != filepath.Join(o.Temp, tmpName) && own.from != filepath.Join(o.Temp, homeName) {
			continue
		}
		for _, b := range binds {
			rel, below := strings.CutPrefix(b.to, own.to+"/")
			if !below {
				continue
			}
			dir := b.kind != ""
			if info, err := os.Lstat(b.from); err == nil {
				dir = info.IsDir()
			}
			if err := clearWay(own.from, rel, dir); err != nil {
				return fmt.Errorf("clear the way to %s: %w", b.to, err)
			}
		}
	}
	return nil
}

// clearWay moves aside the first step of path below top that is no place for a mount, and follows no link.
func clearWay(top, path string, dir bool) error {
	at, err := unix.Openat2(unix.AT_FDCWD, top, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return err
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		wantDir := dir || i < len(names)-1
		var info unix.Stat_t
		if err = unix.Fstatat(at, name, &info, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			break
		}
		kind := info.Mode & unix.S_IFMT
		if kind == unix.S_IFLNK || wantDir != (kind == unix.S_IFDIR) {
			err = unix.Renameat2(at, name, at, name+".aside-"+rand.Text(), unix.RENAME_NOREPLACE)
			break
		}
		if i == len(names)-1 {
			break
		}
		next, openErr := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err = errors.Join(openErr, unix.Close(at)); err != nil {
			return err
		}
		at = next
	}
	if errors.Is(err, unix.ENOENT) {
		err = nil
	}
	return errors.Join(err, unix.Close(at))
}

// isPlace: there is something that is no link; links of the system are made anew.
func isPlace(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink == 0
}

// open takes the tree, as it is now and nowhere through a link, and makes its mounts as strict as they must be.
func (b *bind) open(size int64) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !b.devices {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if b.readOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	var err error
	if b.kind != "" {
		b.tree, err = fresh(b.kind, size, int(attr.Attr_set))
		return err
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, b.from, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return err
	}
	if b.tree, err = cloneTree(fd, attr); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	return unix.Close(fd)
}

// cloneTree copies the mounts below what fd names.
func cloneTree(fd int, attr unix.MountAttr) (int, error) {
	tree, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, fmt.Errorf("copy its mounts: %w", err)
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return -1, errors.Join(fmt.Errorf("set its flags: %w", err), unix.Close(tree))
	}
	return tree, nil
}

// fresh makes a file system of its own.
func fresh(kind string, size int64, flags int) (int, error) {
	options := map[string]string{}
	switch kind {
	case "tmpfs":
		options["size"], options["mode"] = strconv.FormatInt(size, 10), "0755"
	case "devpts":
		options["ptmxmode"], options["mode"] = "0666", "0600"
		flags &^= unix.MOUNT_ATTR_NODEV
	}
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	for name, value := range options {
		if err := unix.FsconfigSetString(fs, name, value); err != nil {
			return -1, errors.Join(fmt.Errorf("%s=%s: %w", name, value, err), unix.Close(fs))
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, errors.Join(err, unix.Close(fs))
	}
	tree, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, flags)
	if err = errors.Join(err, unix.Close(fs)); err != nil {
		return -1, err
	}
	return tree, nil
}

// newRoot is an empty file system over /usr of the old root, whose trees are all taken.
func newRoot() (int, error) {
	root, err := fresh("tmpfs", 1<<20, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return -1, err
	}
	return root, unix.MoveMount(root, "", unix.AT_FDCWD, "/usr", unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// linkSystem makes the links of the system's directories, and those by which programs know their own files.
func linkSystem(root int) error {
	links := map[string]string{"dev/fd": "/proc/self/fd", "dev/stdin": "/proc/self/fd/0", "dev/stdout": "/proc/self/fd/1",
		"dev/stderr": "/proc/self/fd/2", "dev/ptmx": "pts/ptmx"}
	for _, dir := range systemDirs() {
		if target, err := os.Readlink(dir); err == nil && filepath.Dir(dir) == "/" {
			links[dir[1:]] = target
		}
	}
	if err := unix.Mkdirat(root, "dev", 0o755); err != nil {
		return err
	}
	for name, target := range links {
		if err := unix.Symlinkat(target, root, name); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	return nil
}

// attach puts the tree into its place, which is made when it is not there. A link on the way is never followed: a command of the
// same Chat may have planted it.
func (b *bind) attach(root int) error {
	var info unix.Stat_t
	if err := unix.Fstat(b.tree, &info); err != nil {
		return err
	}
	at, err := place(root, b.to, info.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return err
	}
	err = unix.MoveMount(b.tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	return errors.Join(err, unix.Close(at), unix.Close(b.tree))
}

// place opens path below root step by step and makes what is missing.
func place(root int, path string, dir bool) (int, error) {
	names := strings.Split(strings.Trim(path, "/"), "/")
	at, err := unix.Openat(root, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	for i, name := range names {
		flags := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if dir || i < len(names)-1 {
			flags |= unix.O_DIRECTORY
			err = unix.Mkdirat(at, name, 0o755)
		} else {
			var file int
			if file, err = unix.Openat(at, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600); err == nil {
				err = unix.Close(file)
			}
		}
		// What is there already may lie on a read-only file system.
		next, openErr := unix.Openat(at, name, flags, 0)
		if closeErr := unix.Close(at); openErr != nil || closeErr != nil {
			if errors.Is(openErr, unix.ENOENT) && err != nil {
				openErr = err
			}
			return -1, errors.Join(openErr, closeErr)
		}
		at = next
	}
	return at, nil
}

// cover hides what is hidden and makes read-only what is protected, where it is in the new root.
func (o *order) cover(root int) error {
	for _, path := range append(secretFiles(), o.Hidden...) {
		if err := coverOne(root, path, hide); err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	done := map[string]bool{}
	for _, path := range o.Protected {
		// A .git that could be moved away would take what is protected in it along.
		for up := filepath.Dir(path); up != "."; up = filepath.Dir(up) {
			if strings.Contains(path, ".git/") && !done[up] {
				done[up] = true
				if err := coverOne(root, filepath.Join(o.Workspace, up), pin); err != nil {
					return fmt.Errorf("protect %s: %w", up, err)
				}
			}
		}
	}
	for _, path := range o.Protected {
		if err := coverOne(root, filepath.Join(o.Workspace, path), freeze); err != nil {
			return fmt.Errorf("protect %s: %w", path, err)
		}
	}
	return nil
}

// coverOne puts what make gives over a path; one that is not there, or is reached through a link, is left.
func coverOne(root int, path string, make func(at int) (int, error)) error {
	at, err := unix.Openat2(root, strings.TrimPrefix(path, "/"), &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	tree, err := make(at)
	if err != nil {
		return errors.Join(err, unix.Close(at))
	}
	err = unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	return errors.Join(err, unix.Close(tree), unix.Close(at))
}

// pin makes a directory a mount of its own, which cannot be moved away.
func pin(at int) (int, error) { return cloneTree(at, unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}) }

func freeze(at int) (int, error) {
	return cloneTree(at, unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_RDONLY})
}

// hide gives an empty directory, or an empty file.
func hide(at int) (int, error) {
	var info unix.Stat_t
	if err := unix.Fstat(at, &info); err != nil {
		return -1, err
	}
	flags := unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		return fresh("tmpfs", 4096, flags|unix.MOUNT_ATTR_RDONLY)
	}
	empty, err := unix.Openat2(unix.AT_FDCWD, os.DevNull, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if err != nil {
		return -1, err
	}
	tree, err := cloneTree(empty, unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	return tree, errors.Join(err, unix.Close(empty))
}

// raiseLoopback lets the command reach itself in its own network.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	req, err := unix.NewIfreq("lo")
	if err == nil {
		req.SetUint16(unix.IFF_UP)
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
	}
	return errors.Join(err, unix.Close(fd))
}
