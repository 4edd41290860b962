package file

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// sniffed is how many bytes a media type shows in.
const sniffed = 512

// look hands bytes through and sees what they are: the first of them, whether all are text, and whether they are too many.
type look struct {
	from io.Reader
	most int64

	seen  int64
	head  []byte
	rest  []byte // the begin of a rune whose end is still to come
	plain bool   // so far no byte says that it is no text; only after the first Read
}

// Read gives KindTooLarge instead of the byte that is too much.
func (l *look) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if l.seen == 0 {
		l.plain = true
	}
	l.seen += int64(n)
	if l.seen > l.most {
		return 0, &chat.Error{Kind: chat.KindTooLarge, Message: fmt.Sprintf("The file is larger than %d MiB.", l.most>>20),
			Detail: "Put it into a folder of the workspace instead."}
	}
	if room := sniffed - len(l.head); room > 0 {
		l.head = append(l.head, p[:min(n, room)]...)
	}
	l.judge(p[:n])
	return n, err
}

// judge looks whether the text goes on: valid UTF-8 without the controls that no text has.
func (l *look) judge(p []byte) {
	if !l.plain {
		return
	}
	p = append(l.rest, p...)
	l.rest = nil
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		if r == utf8.RuneError && size == 1 {
			if !utf8.FullRune(p) {
				l.rest = append([]byte{}, p...)
				return
			}
			l.plain = false
			return
		}
		if r < ' ' && !strings.ContainsRune("\t\n\r\f\b\x1b", r) {
			l.plain = false
			return
		}
		p = p[size:]
	}
}

// mediaType names what the bytes are. All text is text/plain, whatever language it is in: nothing here is ever shown as a page.
func (l *look) mediaType() string {
	media, _, _ := strings.Cut(http.DetectContentType(l.head), ";")
	switch {
	case chat.IsPicture(media):
		return media
	case l.seen == 0 || l.plain && len(l.rest) == 0:
		return "text/plain"
	case strings.HasPrefix(media, "text/"), strings.HasPrefix(media, "image/"):
		return "application/octet-stream"
	}
	return media
}

// nameBytes is how long a File's name may be.
const nameBytes = 200

// MediaType names what bytes are, as an upload of them would.
func MediaType(data []byte) string {
	l := &look{most: int64(len(data)), seen: int64(len(data)), head: data[:min(len(data), sniffed)], plain: true}
	l.judge(data)
	return l.mediaType()
}

// CleanName gives the last part of a path, without what cannot be seen; "" becomes a name that says the kind.
func CleanName(name, mediaType string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), `\`, "/"))
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200C' && r != '\u200D' || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return -1
		}
		return r
	}, name))
	if len(name) > nameBytes {
		// The end of a name tells its kind.
		end := path.Ext(name)
		if len(end) > 20 {
			end = ""
		}
		name = strings.ToValidUTF8(name[:nameBytes-len(end)], "") + end
	}
	switch {
	case name != "" && name != "." && name != ".." && name != "/":
		return name
	case chat.IsPicture(mediaType):
		return "image." + strings.TrimPrefix(mediaType, "image/")
	case chat.IsText(mediaType):
		return "text.txt"
	}
	return "file"
}
