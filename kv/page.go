package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
)

// A pageFile reads bbolt's file page by page and believes nothing in it. bbolt itself maps the file and trusts its pages: in a broken one it
// panics, and behind the end of one that was cut the process ends. Numbers stand in the order of the machine, as bbolt writes them.
type pageFile struct {
	f    io.ReaderAt
	size int64
	// page is the size of one page.
	page int64
	// meta is the newest that holds; nil when both are broken.
	meta *pageMeta
}

// pageMeta is what a meta page says. end is the number behind the last page.
type pageMeta struct{ root, freelist, end, tx uint64 }

// Kinds of pages, and other constants of the format.
const (
	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageFreelist = 0x10

	pageHead    = 16
	pageElement = 16
	bucketHead  = 16
	metaSize    = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2
	// noFreelist stands where none is kept.
	noFreelist = math.MaxUint64
	// bucketElement marks an element of a leaf whose value is a bucket.
	bucketElement = 0x01
	smallestPage  = 1 << 10
	largestPage   = 64 << 10
	// largestRun bounds, in bytes, a page with what it runs over to; the largest value that a put takes fits.
	largestRun = 1 << 30
)

var order = binary.NativeEndian

// openPages finds the size of a page and the newest meta page that holds.
func openPages(f io.ReaderAt, size int64) *pageFile {
	p := &pageFile{f: f, size: size}
	for at := int64(smallestPage); at <= largestPage; at *= 2 {
		// The first meta page stands at 0, whatever the size; the second one behind the first page.
		for _, from := range []int64{0, at} {
			m, page := p.metaAt(from)
			if m != nil && page == at && (p.meta == nil || m.tx > p.meta.tx) {
				p.meta, p.page = m, page
			}
		}
	}
	return p
}

// checkLength refuses a file that ends before its last page: bbolt would read on behind the end of the map, which ends the process.
func checkLength(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		// Opening it says better what is wrong.
		return nil
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("kv: look at %s: %w", path, err)
	}
	p := openPages(f, info.Size())
	if p.meta == nil || p.meta.end <= uint64(info.Size()/p.page) {
		return nil
	}
	return &DamageError{Damage{Noun: "structure", Key: fileName, Reason: fmt.Sprintf("the file is cut short: it has %d pages and should have %d", info.Size()/p.page, p.meta.end)}}
}

func (p *pageFile) metaAt(at int64) (*pageMeta, int64) {
	b := make([]byte, pageHead+metaSize)
	if _, err := p.f.ReadAt(b, at); err != nil {
		return nil, 0
	}
	b = b[pageHead:]
	h := fnv.New64a()
	// A hash never fails.
	h.Write(b[:metaSize-8])
	if order.Uint32(b) != metaMagic || order.Uint32(b[4:]) != metaVersion || order.Uint64(b[56:]) != h.Sum64() {
		return nil, 0
	}
	return &pageMeta{root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]), end: order.Uint64(b[40:]), tx: order.Uint64(b[48:])}, int64(order.Uint32(b[8:]))
}

// guessPage takes the size under which most pages stand where their number says.
func (p *pageFile) guessPage() int64 {
	best, most := int64(4<<10), 0
	b := make([]byte, 8)
	for page := int64(smallestPage); page <= largestPage; page *= 2 {
		n := 0
		for id := int64(2); id*page < p.size && id < 4096; id++ {
			if _, err := p.f.ReadAt(b, id*page); err == nil && order.Uint64(b) == uint64(id) {
				n++
			}
		}
		if n > most {
			best, most = page, n
		}
	}
	return best
}

// count is how many pages the file has, the last one perhaps cut.
func (p *pageFile) count() uint64 { return uint64((p.size + p.page - 1) / p.page) }

// rawPage is a page and what it runs over to.
type rawPage struct {
	id   uint64
	kind uint16
	// more is how many pages follow it.
	more uint64
	// at is where its bytes begin in the file.
	at       int64
	elements []element
}

// element is an entry of a branch or leaf. Where a branch points is child.
type element struct {
	key, value []byte
	child      uint64
	bucket     bool
	// at is where the value begins in the file.
	at int64
}

var errPage = errors.New("its number or its kind is wrong")

// read gives a page whose elements all lie within it.
func (p *pageFile) read(id uint64) (rawPage, error) {
	if id >= p.count() {
		return rawPage{}, errors.New("the file ends before it")
	}
	at := int64(id) * p.page
	head := make([]byte, pageHead)
	if _, err := p.f.ReadAt(head, at); err != nil {
		return rawPage{}, readError(err)
	}
	if order.Uint64(head) != id {
		return rawPage{}, errPage
	}
	size := (int64(order.Uint32(head[12:])) + 1) * p.page
	if size > largestRun || at+size > p.size {
		return rawPage{}, fmt.Errorf("it says that it has %d bytes, which the file has not", size)
	}
	b := make([]byte, size)
	if _, err := p.f.ReadAt(b, at); err != nil {
		return rawPage{}, readError(err)
	}
	return parsePage(b, at)
}

func readError(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file ends within it")
	}
	return err
}

// parsePage takes apart a page, or a bucket that stands inside a value.
func parsePage(b []byte, at int64) (rawPage, error) {
	if len(b) < pageHead {
		return rawPage{}, errors.New("it is cut short")
	}
	out := rawPage{id: order.Uint64(b), kind: order.Uint16(b[8:]), more: uint64(order.Uint32(b[12:])), at: at}
	count := int(order.Uint16(b[10:]))
	switch out.kind {
	case pageFreelist:
		return out, nil
	case pageBranch, pageLeaf:
	default:
		return rawPage{}, errPage
	}
	if pageHead+count*pageElement > len(b) {
		return rawPage{}, fmt.Errorf("it says that it has %d elements, for which there is no room", count)
	}
	for i := range count {
		from := pageHead + i*pageElement
		e, err := parseElement(b, from, out.kind)
		if err != nil {
			return rawPage{}, fmt.Errorf("element %d: %w", i, err)
		}
		e.at += at
		out.elements = append(out.elements, e)
	}
	return out, nil
}

func parseElement(b []byte, from int, kind uint16) (element, error) {
	var e element
	head := b[from : from+pageElement]
	flags, pos, keySize, size := uint64(0), uint64(order.Uint32(head)), uint64(order.Uint32(head[4:])), uint64(0)
	if kind == pageBranch {
		e.child = order.Uint64(head[8:])
	} else {
		flags, pos = uint64(order.Uint32(head)), uint64(order.Uint32(head[4:]))
		keySize, size = uint64(order.Uint32(head[8:])), uint64(order.Uint32(head[12:]))
	}
	key := uint64(from) + pos
	if key+keySize+size > uint64(len(b)) {
		return e, errors.New("it lies outside of the page")
	}
	e.bucket = flags&bucketElement != 0
	e.key, e.value = b[key:key+keySize], b[key+keySize:key+keySize+size]
	e.at = int64(key + keySize)
	return e, nil
}

// free gives the pages that hold nothing that counts; known is false when that cannot be read.
func (p *pageFile) free() (pages map[uint64]bool, known bool) {
	if p.meta == nil || p.meta.freelist == noFreelist {
		return nil, false
	}
	page, err := p.read(p.meta.freelist)
	if err != nil || page.kind != pageFreelist {
		return nil, false
	}
	b := make([]byte, (int64(page.more)+1)*p.page)
	if _, err := p.f.ReadAt(b, page.at); err != nil {
		return nil, false
	}
	count, from := uint64(order.Uint16(b[10:])), pageHead
	if count == math.MaxUint16 {
		// So many do not fit into the head; the first number says how many there are.
		count, from = order.Uint64(b[pageHead:]), pageHead+8
	}
	if count > uint64(len(b)-from)/8 {
		return nil, false
	}
	pages = make(map[uint64]bool, count)
	for i := range int(count) {
		pages[order.Uint64(b[from+8*i:])] = true
	}
	return pages, true
}
