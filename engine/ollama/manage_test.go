package ollama

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

func kindOf(err error) chat.Kind {
	var e *chat.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := serve(t, Options{Memory: func(context.Context) int64 { return 8 << 30 }}, scripted.Model{Name: "m"})
		s := a.Status(t.Context())
		if !s.Reachable || s.Version != scripted.Version || s.Problem != "" || len(s.Loaded) != 0 || s.MemoryBytes != 8<<30 || s.URL == "" {
			t.Errorf("%+v", s)
		}
		if _, _, err := listen(t, t.Context(), a, ask("hi")); err != nil {
			t.Fatal(err)
		}
		s = a.Status(t.Context())
		if len(s.Loaded) != 1 || s.Loaded[0].Name != "m:latest" || s.Loaded[0].Context != 4096 || time.Until(s.Loaded[0].ExpiresAt) != 30*time.Minute {
			t.Errorf("%+v", s.Loaded)
		}
	})
}

func TestStatusOfSomethingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := scripted.Memory(http.NotFoundHandler())
		defer running.Close()
		u, _ := ParseURL(running.URL)
		a := New(Options{URL: u, Client: running.Client})
		if s := a.Status(t.Context()); s.Reachable || !strings.Contains(s.Problem, "is not a model server") {
			t.Errorf("%+v", s)
		}
		if _, err := a.Installed(t.Context()); kindOf(err) != chat.KindNotFound || !strings.Contains(err.Error(), "not a model server") {
			t.Error(err)
		}
	})
}

func TestInstalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := serve(t, Options{Memory: func(context.Context) int64 { return 4 << 20 }},
			scripted.Model{Name: "small", Window: 8192, Size: 1 << 20},
			scripted.Model{Name: "blind:1b", Capabilities: []string{"completion"}, Window: 2048, Size: 3 << 20, Family: "llama"},
			scripted.Model{Name: "huge", Size: 90 << 30})
		for range 2 {
			list, err := a.Installed(t.Context())
			if err != nil || len(list) != 3 {
				t.Fatalf("%v, %+v", err, list)
			}
			small, blind, huge := list[0], list[1], list[2]
			if small.Name != "small:latest" || !small.Can("tools") || small.TrainedWindow != 8192 || small.SuggestedWindow != 8192 || !*small.Fits {
				t.Errorf("%+v", small)
			}
			if blind.Can("tools") || blind.SuggestedWindow != 2048 || blind.Family != "llama" || *blind.Fits != true {
				t.Errorf("%+v", blind)
			}
			if huge.SuggestedWindow != 4096 || *huge.Fits {
				t.Errorf("%+v", huge)
			}
		}
		if n := len(s.Requests("/api/show")); n != 3 {
			t.Errorf("%d questions for 3 models", n)
		}
	})
}

func TestSuggestWindow(t *testing.T) {
	const gb = 1 << 30
	// Qwen3 8B: 36 layers, 8 heads of 128 + 128, 2 bytes: 147,456 bytes per token, 4.5 GiB at 32768.
	m := shown{trained: 40960, kvToken: 36 * 8 * 256 * 2}
	for _, c := range []struct {
		name            string
		m               shown
		weights, memory int64
		window          int64
		fits            string
	}{
		{"room for all", m, 5 * gb, 24 * gb, 32768, "yes"},
		{"half", m, 5 * gb, 10 * gb, 16384, "yes"},
		{"a quarter", m, 5 * gb, 7 * gb, 8192, "yes"},
		{"least", m, 5 * gb, 6*gb + gb/4, 4096, "yes"},
		{"too small", m, 5 * gb, 5 * gb, 4096, "no"},
		{"unknown memory", m, 5 * gb, 0, 8192, "unknown"},
		{"unknown shape", shown{trained: 131072}, 5 * gb, 64 * gb, 8192, "unknown"},
		{"unknown training", shown{kvToken: 1000}, gb, 64 * gb, 32768, "yes"},
		{"trained for less", shown{trained: 2048, kvToken: 1000}, gb, 64 * gb, 2048, "yes"},
		{"trained for less, unknown memory", shown{trained: 4096, kvToken: 1000}, gb, 0, 4096, "unknown"},
		{"trained for an odd number", shown{trained: 10000, kvToken: 1000}, gb, 64 * gb, 8192, "yes"},
	} {
		window, fits := suggestWindow(c.m, c.weights, c.memory)
		got := "unknown"
		if fits != nil {
			got = map[bool]string{true: "yes", false: "no"}[*fits]
		}
		if window != c.window || got != c.fits {
			t.Errorf("%s: %d, %s", c.name, window, got)
		}
	}
}

func TestModelInfo(t *testing.T) {
	raw := func(m map[string]string) modelInfo {
		out := modelInfo{}
		for k, v := range m {
			out[k] = []byte(v)
		}
		return out
	}
	qwen := raw(map[string]string{"general.architecture": `"qwen3"`, "qwen3.block_count": "36", "qwen3.attention.head_count": "32",
		"qwen3.attention.head_count_kv": "8", "qwen3.attention.key_length": "128", "qwen3.attention.value_length": "128"})
	if n := qwen.kvPerToken(); n != 147456 {
		t.Errorf("qwen3: %d", n)
	}
	llama := raw(map[string]string{"general.architecture": `"llama"`, "llama.block_count": "32", "llama.attention.head_count": "32",
		"llama.embedding_length": "4096"})
	if n := llama.kvPerToken(); n != 32*32*256*2 {
		t.Errorf("llama without the newer keys: %d", n)
	}
	mixed := raw(map[string]string{"general.architecture": `"x"`, "x.block_count": "2", "x.attention.head_count": "8",
		"x.attention.head_count_kv": "[0,4,2]", "x.attention.key_length": "64"})
	if n := mixed.kvPerToken(); n != 2*4*128*2 {
		t.Errorf("one value per layer: %d", n)
	}
	if n := (modelInfo{}).kvPerToken(); n != 0 {
		t.Errorf("nothing known: %d", n)
	}
}

func TestPull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := scripted.Pullable{Model: scripted.Model{Name: "new"}, Layers: []int64{10_000_000, 500}, Chunks: 10, Pace: time.Second}
		a, _ := serveWith(t, Options{}, scripted.Options{Pullable: []scripted.Pullable{source}})
		ctx, cancel := context.WithCancelCause(t.Context())
		var last chat.Progress
		err := a.Pull(ctx, "new", func(p chat.Progress) {
			last = p
			if p.Completed >= 5_000_000 {
				cancel(chat.CauseInterrupted)
			}
		})
		if err != error(chat.CauseInterrupted) {
			t.Fatal(err)
		}
		if last.Total != 10_000_000 || last.BytesPerSecond != 1_000_000 || last.ETASeconds != 5 {
			t.Errorf("%+v", last)
		}
		began := time.Now()
		var first chat.Progress
		var statuses []string
		err = a.Pull(t.Context(), "new", func(p chat.Progress) {
			if first.Total == 0 {
				first = p
			}
			last = p
			if !slices.Contains(statuses, p.Status) {
				statuses = append(statuses, p.Status)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if first.Completed < 5_000_000 || time.Since(began) > 16*time.Second {
			t.Errorf("it began anew: %+v after %v", first, time.Since(began))
		}
		if last.Completed != 10_000_500 || last.Total != 10_000_500 || last.Status != "success" {
			t.Errorf("%+v", last)
		}
		if got := strings.Join(statuses, ", "); got != "pulling manifest, downloading, verifying sha256 digest, writing manifest, success" {
			t.Error(got)
		}
		if list, err := a.Installed(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

func TestPullFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := scripted.Pullable{Model: scripted.Model{Name: "full"}, Layers: []int64{10}, Fail: "write /blobs/x: no space left on device"}
		a, _ := serveWith(t, Options{}, scripted.Options{Pullable: []scripted.Pullable{full}})
		ignore := func(chat.Progress) {}
		err := a.Pull(t.Context(), "nowhere", ignore)
		if kindOf(err) != chat.KindNotFound || !strings.Contains(err.Error(), "There is no model nowhere.") {
			t.Error(err)
		}
		if err := a.Pull(t.Context(), "full", ignore); kindOf(err) != chat.KindNoSpace {
			t.Error(err)
		}
	})
}

func TestDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := serve(t, Options{}, scripted.Model{Name: "m"})
		if err := a.Delete(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		if err := a.Delete(t.Context(), "m"); kindOf(err) != chat.KindNotFound {
			t.Error(err)
		}
		if list, err := a.Installed(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

func TestImport(t *testing.T) {
	content := append([]byte("GGUF"), bytes.Repeat([]byte("weights "), 300_000)...)
	size := int64(len(content))
	for name, r := range map[string]io.Reader{
		"once":  io.MultiReader(bytes.NewReader(content)),
		"again": bytes.NewReader(content),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				a, s := serve(t, Options{TempDir: dir})
				var seen []string
				err := a.Import(t.Context(), "mine", r, size, func(p chat.Progress) {
					if !slices.Contains(seen, p.Status) {
						seen = append(seen, p.Status)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(seen, ", "); got != "reading, parsing GGUF, writing manifest, success" {
					t.Error(got)
				}
				list, err := a.Installed(t.Context())
				if err != nil || len(list) != 1 || list[0].Size != size {
					t.Errorf("%v, %+v", err, list)
				}
				// The second time the server has the bytes.
				before := len(s.Requests(""))
				if err := a.Import(t.Context(), "twin", bytes.NewReader(content), size, func(p chat.Progress) {
					if p.Status == StatusUploading {
						t.Error("uploaded twice")
					}
				}); err != nil || len(s.Requests("")) != before+1 {
					t.Error(err)
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
					t.Errorf("left behind: %v, %v", left, err)
				}
			})
		})
	}
}

func TestImportRefuses(t *testing.T) {
	good := append([]byte("GGUF"), make([]byte, 5000)...)
	for name, c := range map[string]struct {
		content []byte
		size    int64
		says    string
	}{
		"not a GGUF": {[]byte("PK\x03\x04 and more"), 12, "not a GGUF"},
		"too short":  {good[:4000], 5004, "ended after 4000 of 5004"},
		"too long":   {good, 4000, "longer than the 4000"},
		"empty":      {nil, 0, "empty"},
		"tiny":       {[]byte("GG"), 10, "not a GGUF"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				a, s := serve(t, Options{TempDir: dir})
				err := a.Import(t.Context(), "m", io.MultiReader(bytes.NewReader(c.content)), c.size, func(chat.Progress) {})
				var e *chat.Error
				if !errors.As(err, &e) || e.Kind != chat.KindInvalid || !strings.Contains(e.Detail, c.says) {
					t.Error(err)
				}
				if len(s.Requests("")) != 0 {
					t.Error("the server was asked")
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
					t.Errorf("left behind: %v, %v", left, err)
				}
			})
		})
	}
}

func TestImportIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := serve(t, Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		r := io.MultiReader(strings.NewReader("GGUF"), readFunc(func(p []byte) (int, error) {
			cancel(chat.CauseShutdown)
			return len(p), nil
		}))
		if err := a.Import(ctx, "m", r, 1<<40, func(chat.Progress) {}); err != error(chat.CauseShutdown) {
			t.Error(err)
		}
	})
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestMemory(t *testing.T) {
	if n := memTotal([]byte("MemFree: 1 kB\nMemTotal:       16384256 kB\nSwap: 2 kB\n")); n != 16384256<<10 {
		t.Errorf("MemTotal %d", n)
	}
	if n := memTotal([]byte("nothing")); n != 0 {
		t.Errorf("no MemTotal %d", n)
	}
	if n := nvidiaTotal([]byte("24564\n24564\n")); n != 2*24564<<20 {
		t.Errorf("nvidia %d", n)
	}
	root := t.TempDir()
	for card, bytes := range map[string]string{"card0": "536870912\n", "card1": "17163091968\n"} {
		dir := filepath.Join(root, card, "device")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "mem_info_vram_total"), []byte(bytes), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n := amdMemory(root); n != 536870912+17163091968 {
		t.Errorf("amd %d", n)
	}
	if n := machineMemory(t.Context()); n <= 0 {
		t.Errorf("this machine has %d", n)
	}
}

func TestParseURL(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "http://127.0.0.1:11434",
		"box":                       "http://box:11434",
		"box:80":                    "http://box:80",
		"http://box":                "http://box",
		"https://box/ollama/":       "https://box/ollama",
		`"127.0.0.1:1"`:             "http://127.0.0.1:1",
		"0.0.0.0:11434":             "http://127.0.0.1:11434",
		"http://[::]:5":             "http://[::1]:5",
		"[fe80::1]":                 "http://[fe80::1]:11434",
		"http://[fe80::1]":          "http://[fe80::1]",
		"http://user:pw@host/?q#f":  "http://user:pw@host",
		"http://127.0.0.1:11434///": "http://127.0.0.1:11434//",
	} {
		if u, err := ParseURL(in); err != nil || u.String() != want {
			t.Errorf("%q: %v, %v", in, u, err)
		}
	}
	for _, in := range []string{"ftp://x", "http://", "://", "http://a b"} {
		if u, err := ParseURL(in); err == nil {
			t.Errorf("%q: %v", in, u)
		}
	}
}

func TestRegistryOfAName(t *testing.T) {
	for name, want := range map[string]string{"qwen3": "registry.ollama.ai", "qwen3:8b": "registry.ollama.ai", "me/model:1": "registry.ollama.ai",
		"hf.co/a/b:Q4": "hf.co", "https://hf.co/a/b": "hf.co", "box:5000/a/b": "box", "localhost/a": "localhost", "registry.ollama.ai/library/a": "registry.ollama.ai"} {
		if got := Registry(name); got != want {
			t.Errorf("%s comes from %s, want %s", name, got, want)
		}
	}
}
