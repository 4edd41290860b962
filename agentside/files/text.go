package files

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
)

const (
	sniffed   = 8 << 10
	lineCut   = " [line cut]"
	lineBytes = 1024
)

// isText judges by the first 8 KiB: no NUL, valid UTF-8, where a rune that the 8 KiB end cuts is fine.
func isText(data []byte) bool {
	if len(data) > sniffed {
		data = data[:sniffed]
		for i := 1; i < utf8.UTFMax; i++ {
			if utf8.RuneStart(data[len(data)-i]) {
				if !utf8.FullRune(data[len(data)-i:]) {
					data = data[:len(data)-i]
				}
				break
			}
		}
	}
	return bytes.IndexByte(data, 0) < 0 && utf8.Valid(data)
}

func binary(path string, data []byte, size int64) *chat.FileError {
	kind := http.DetectContentType(data)
	if kind == "text/plain; charset=utf-8" {
		kind = "text that is not UTF-8"
	}
	return refuse("binary", path, "%s is not a text file: it is %s and has %d bytes.", path, kind, size)
}

// cutLine shortens a line to at most max bytes with its suffix, on a rune boundary.
func cutLine(line string, max int) string {
	if len(line) <= max {
		return line
	}
	return cutRunes(line, max-len(lineCut)) + lineCut
}

// cutRunes gives at most max bytes of s and no part of a rune.
func cutRunes(s string, max int) string {
	if max <= 0 {
		return ""
	}
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

func clean(line []byte) string {
	return strings.ToValidUTF8(string(line), "\uFFFD")
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
