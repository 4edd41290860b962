package wctx

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"holdfast/engine/chat"
)

// errDenied: the path is one of our own.
var errDenied = errors.New("it lies in a directory of the appliance's own")

// content is what was read of a recognised name. status is "" where there is nothing after all.
type content struct {
	status chat.ResourceStatus
	why    string
	// at is the name without links, "" when a link was not followed to its end.
	at    string
	size  int64
	hash  chat.Hash
	bytes []byte
}

func refused(status chat.ResourceStatus, why string) content {
	return content{status: status, why: why}
}

// tries is how often a file is read anew that was replaced between the look and the reading.
const tries = 3

// read reads a file of at most max bytes.
func (p *place) read(name string, limit int64) content {
	var last error
	for range tries {
		to, err := p.follow(name)
		if err != nil {
			return notFollowed(err)
		}
		if c, done := p.judge(to); done {
			return c
		}
		file, info, err := p.openSame(to)
		if err == nil {
			c := readFile(file, info, limit)
			c.at = to.name
			return c
		}
		if errors.Is(err, fs.ErrPermission) {
			return content{status: chat.ResourceUnreadable, why: reason(err), at: to.name, size: to.info.Size()}
		}
		last = err
	}
	return refused(chat.ResourceUnreadable, reason(last))
}

func notFollowed(err error) content {
	if errors.Is(err, errOutside) || errors.Is(err, errDenied) {
		return refused(chat.ResourceInvalid, reason(err))
	}
	return refused(chat.ResourceUnreadable, reason(err))
}

// judge decides about what is not to be opened.
func (p *place) judge(to found) (c content, done bool) {
	switch {
	case to.info == nil && to.linked:
		return refused(chat.ResourceUnreadable, "the link leads to nothing"), true
	case to.info == nil:
		return content{}, true
	case to.info.IsDir() && to.linked:
		return refused(chat.ResourceInvalid, "the link leads to a directory"), true
	case to.info.IsDir():
		return content{}, true
	case !to.info.Mode().IsRegular():
		return refused(chat.ResourceInvalid, "it is not a regular file but "+what(to.info.Mode())), true
	}
	return content{}, false
}

func what(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}

// openSame opens the file that was looked at, and no other that took its place.
func (p *place) openSame(to found) (*os.File, fs.FileInfo, error) {
	file, err := p.disk.open(p.root, to.name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || !os.SameFile(info, to.info)) {
		err = errMoved
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

func readFile(file *os.File, info fs.FileInfo, limit int64) content {
	defer file.Close()
	var head []byte
	size := info.Size()
	if size <= limit {
		b, err := io.ReadAll(io.LimitReader(file, limit+1))
		if err != nil {
			return content{status: chat.ResourceUnreadable, why: reason(err), size: size}
		}
		if int64(len(b)) <= limit {
			return content{status: chat.ResourceOK, size: int64(len(b)), hash: chat.FileHash(b), bytes: b}
		}
		// It grew.
		head = b
		if info, err = file.Stat(); err == nil {
			size = info.Size()
		}
		size = max(size, int64(len(b)))
	}
	hash, err := chat.OversizeHash(size, io.MultiReader(bytes.NewReader(head), file))
	if err != nil {
		return content{status: chat.ResourceUnreadable, why: reason(err), size: size}
	}
	return content{status: chat.ResourceOversize, why: "it is larger than " + sizeText(limit), size: size, hash: hash}
}
