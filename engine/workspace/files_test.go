package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func TestPathsAndTextOfAWorkspace(t *testing.T) {
	s := standing(t)
	dir := t.TempDir()
	for name, body := range map[string]string{"fetch.go": "package feed\n", "feed/fetch_test.go": "x", "feed/deep/prefetch.md": "y", "node_modules/fetch.js": "z",
		"odd[1].txt": "odd", "two\nlines.txt": "odd", "big.log": strings.Repeat("x", MaxText+1), "full.log": strings.Repeat("x", MaxText), "binary.bin": "a\x00b", "latin.txt": "gr\xfcn"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	id := s.create(t, CreateInput{Directory: dir}).Workspace.ID
	for query, want := range map[string]string{"fetch": "[fetch.go feed/fetch_test.go feed/deep/prefetch.md]", "FEED/fe": "[feed/fetch_test.go]", "[1]": "[odd[1].txt]",
		"nothing like it": "[]", "link": "[]"} {
		got, err := s.Paths(t.Context(), admin, PathsInput{ID: id, Query: query})
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q finds %v, %v; want %s", query, got, err, want)
		}
	}
	if all, err := s.Paths(t.Context(), admin, PathsInput{ID: id}); err != nil || len(all) != 8 || strings.Contains(all[0], "/") {
		t.Errorf("all: %v, %v", all, err)
	}
	if f, err := s.Text(t.Context(), admin, TextInput{ID: id, Path: "fetch.go"}); err != nil || f.Content != "package feed\n" {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := s.Text(t.Context(), admin, TextInput{ID: id, Path: "full.log"}); err != nil || len(f.Content) != MaxText {
		t.Errorf("%d bytes, %v", len(f.Content), err)
	}
	for path, words := range map[string]string{"big.log": "larger than 128 KiB", "binary.bin": "is not text", "latin.txt": "is not text", "gone.txt": "gone.txt", "link.txt": "",
		"../secret.txt": "", outside: ""} {
		f, err := s.Text(t.Context(), admin, TextInput{ID: id, Path: path})
		var refused *chat.Error
		if !errors.As(err, &refused) || refused.Kind != chat.KindInvalid || !strings.Contains(refused.Message, words) || f.Content != "" {
			t.Errorf("%s: %+v, %v", path, f, err)
		}
	}
	if _, err := s.Text(t.Context(), other, TextInput{ID: id, Path: "fetch.go"}); kind(err) != chat.KindNotFound {
		t.Errorf("another person reads: %v", err)
	}
	if _, err := s.Paths(t.Context(), other, PathsInput{ID: id}); kind(err) != chat.KindNotFound {
		t.Errorf("another person looks: %v", err)
	}
}
