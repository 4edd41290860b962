package file

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"holdfast/engine/chat"
)

func lookAt(t testing.TB, r io.Reader, most int64) (*look, []byte, error) {
	t.Helper()
	l := &look{from: r, most: most}
	b, err := io.ReadAll(l)
	return l, b, err
}

func TestMediaTypes(t *testing.T) {
	for name, c := range map[string]struct{ bytes, want string }{
		"png":             {"\x89PNG\r\n\x1a\n0000", "image/png"},
		"jpeg":            {"\xff\xd8\xff\xe0", "image/jpeg"},
		"gif":             {"GIF89a....", "image/gif"},
		"webp":            {"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"},
		"a page":          {"<!doctype html><script>alert(1)</script>", "text/plain"},
		"svg":             {`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="x()"/>`, "text/plain"},
		"go":              {"package file\n", "text/plain"},
		"coloured":        {"\x1b[31mred\x1b[0m", "text/plain"},
		"empty":           {"", "text/plain"},
		"a cut rune":      {"gr\xc3", "application/octet-stream"},
		"latin-1":         {strings.Repeat("a", 600) + "\xe9", "application/octet-stream"},
		"nul far behind":  {strings.Repeat("a", 600) + "\x00", "application/octet-stream"},
		"pdf":             {"%PDF-1.7\n\xe2\xe3", "application/pdf"},
		"html with bytes": {"<html>\xff\xfe", "application/octet-stream"},
		"icon":            {"\x00\x00\x01\x00\x01", "application/octet-stream"},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.bytes), iotest.OneByteReader(strings.NewReader(c.bytes))} {
			l, _, err := lookAt(t, r, 1<<20)
			if err != nil || l.mediaType() != c.want {
				t.Errorf("%s: %s, %v; want %s", name, l.mediaType(), err, c.want)
			}
		}
	}
}

func TestOneByteTooMuch(t *testing.T) {
	if _, b, err := lookAt(t, strings.NewReader("12345"), 5); err != nil || string(b) != "12345" {
		t.Errorf("exactly the limit: %q, %v", b, err)
	}
	_, _, err := lookAt(t, strings.NewReader("123456"), 5)
	var refused *chat.Error
	if !errors.As(err, &refused) || refused.Kind != chat.KindTooLarge {
		t.Errorf("one byte more: %v", err)
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"a.png": "a.png", "../../etc/passwd": "passwd", `C:\Users\me\b.txt`: "b.txt", "": "image.png", "..": "image.png", "/": "image.png",
		"a\x00b\r\nc": "abc", "x\u202egnp.exe": "xgnp.exe", "grün 漢.md": "grün 漢.md", " \t": "image.png", "bad\xff": "bad\uFFFD",
		strings.Repeat("漢", 100) + ".txt": strings.Repeat("漢", 65) + ".txt",
	} {
		if got := CleanName(in, "image/png"); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got := CleanName("", "application/pdf"); got != "file" {
		t.Error(got)
	}
	if got := CleanName("", "text/plain"); got != "text.txt" {
		t.Error(got)
	}
}

// FuzzLook: however the bytes are cut, they come through unchanged and are judged alike; what counts as text is valid UTF-8.
func FuzzLook(f *testing.F) {
	f.Add([]byte("plain"), 1)
	f.Add([]byte("gr\xc3\xbcn \xf0\x9f\x99\x82"), 2)
	f.Add([]byte("\x89PNG\r\n\x1a\n"), 3)
	f.Add([]byte("\xff\xfeh\x00"), 1)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		whole, _, err := lookAt(t, bytes.NewReader(b), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		cut, got, err := lookAt(t, &pieces{b, 1 + max(size, 0)%7}, 1<<20)
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("the bytes came back as %q, %v", got, err)
		}
		if whole.mediaType() != cut.mediaType() {
			t.Errorf("whole it is %s, in pieces %s", whole.mediaType(), cut.mediaType())
		}
		if chat.IsText(whole.mediaType()) && !utf8.Valid(b) {
			t.Errorf("%q counts as text", b)
		}
	})
}

// pieces gives a few bytes at a time.
type pieces struct {
	left []byte
	size int
}

func (p *pieces) Read(into []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(into, p.left[:min(p.size, len(p.left))])
	p.left = p.left[n:]
	return n, nil
}

// FuzzCleanName: a name is one part of a path, valid, seen and never empty.
func FuzzCleanName(f *testing.F) {
	f.Add("a/b")
	f.Add("\x00\u202e")
	f.Add(strings.Repeat("é", 300) + "." + strings.Repeat("x", 30))
	f.Fuzz(func(t *testing.T, name string) {
		got := CleanName(name, "text/plain")
		if got == "" || len(got) > nameBytes || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\\r\n\x00") || got == "." || got == ".." {
			t.Errorf("%q becomes %q", name, got)
		}
	})
}
