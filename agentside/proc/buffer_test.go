package proc

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func lines(n int) []byte {
	var out bytes.Buffer
	for i := 0; out.Len() < n; i++ {
		fmt.Fprintf(&out, "line %d of many\n", i)
	}
	return out.Bytes()[:n]
}

func ended(pieces ...[]byte) view {
	b := newBuffer()
	for _, p := range pieces {
		b.write(p)
	}
	b.finish(exit{})
	return b.view()
}

// TestNothingOmitted is of case 46.
func TestNothingOmitted(t *testing.T) {
	whole := lines(keepHead + keepTail)
	if r := ended(whole).render(0); r.text != string(whole) || r.gap != 0 || r.next != int64(len(whole)) {
		t.Errorf("gap %d next %d", r.gap, r.next)
	}
	more := lines(keepHead + keepTail + 1)
	r := ended(more).render(0)
	want := string(more[:keepHead]) + "\n[... 1 bytes omitted ...]\n" + string(more[keepHead+1:])
	if r.text != want || r.gap != 1 {
		t.Errorf("gap %d\n%s", r.gap, r.text[keepHead-40:keepHead+80])
	}
}

// TestMemoryIsBounded is of case 46.
func TestMemoryIsBounded(t *testing.T) {
	b := newBuffer()
	piece := lines(1 << 20)
	for range 50 {
		b.write(piece)
	}
	if cap(b.head)+cap(b.tail) > 32<<10 || b.total != 50<<20 {
		t.Errorf("head %d tail %d total %d", cap(b.head), cap(b.tail), b.total)
	}
	pieces := newBuffer()
	for range 50 << 10 {
		pieces.write(piece[:7])
	}
	if cap(pieces.head)+cap(pieces.tail) > 32<<10 {
		t.Errorf("in small pieces: head %d tail %d", cap(pieces.head), cap(pieces.tail))
	}
	small := newBuffer()
	small.write([]byte("hello"))
	if cap(small.head) > 64 || small.tail != nil {
		t.Errorf("head %d tail %d", cap(small.head), cap(small.tail))
	}
}

func TestLongLinesAreCut(t *testing.T) {
	for _, c := range []struct {
		name, line string
		length     int
	}{
		{"fits", strings.Repeat("x", maxLine), maxLine},
		{"one over", strings.Repeat("x", maxLine+1), maxLine},
		{"wide", strings.Repeat("世", 1000), maxLine - (maxLine-len(lineCut))%3},
		{"invalid", strings.Repeat("\xff", 1000), maxLine - (maxLine-len(lineCut))%3},
	} {
		r := ended([]byte("a\n" + c.line + "\nb\n")).render(0)
		parts := strings.Split(r.text, "\n")
		if len(parts) != 4 || parts[0] != "a" || parts[2] != "b" || len(parts[1]) != c.length || !utf8.ValidString(r.text) {
			t.Errorf("%s: %d parts, %d bytes", c.name, len(parts), len(parts[1]))
		}
		if strings.HasSuffix(parts[1], lineCut) != (c.name != "fits") || (r.gap > 0) != (c.name != "fits") {
			t.Errorf("%s: gap %d, ends %q", c.name, r.gap, parts[1][len(parts[1])-12:])
		}
	}
}

// TestReadsAddUp reads a random output in random steps while it is written: what was read plus the gaps is what was written. case 47
func TestReadsAddUp(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	texts := []string{"a", "é", "世", "𝄞", "\n", "word ", strings.Repeat("long", 100)}
	for round := range 200 {
		b := newBuffer()
		var since, got, gaps int64
		for step := range 60 {
			var piece []byte
			for range random.IntN(400) {
				piece = append(piece, texts[random.IntN(len(texts))]...)
			}
			// Pieces end in the middle of runes too.
			cut := random.IntN(len(piece) + 1)
			b.write(piece[:cut])
			b.write(piece[cut:])
			if random.IntN(3) > 0 && step < 59 {
				continue
			}
			if step == 59 {
				b.finish(exit{})
			}
			r := b.view().render(since)
			if strings.ContainsRune(r.text, utf8.RuneError) || !utf8.ValidString(r.text) {
				t.Fatalf("round %d: a cut broke a rune", round)
			}
			n := shown(r.text, headIsBare(b, since))
			if r.next-since-r.gap != n {
				t.Fatalf("round %d: since %d next %d gap %d, but %d bytes shown", round, since, r.next, r.gap, n)
			}
			got, gaps, since = got+n, gaps+r.gap, r.next
		}
		if got+gaps != b.total {
			t.Fatalf("round %d: %d read and %d lost of %d", round, got, gaps, b.total)
		}
	}
}

// shown is how many bytes of the process a rendered text has: without the marker line, with the newline that stands before it
// only when the head had not ended its line, and without cut suffixes.
func shown(text string, bare bool) int64 {
	n := 0
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "[... ") && strings.HasSuffix(l, " bytes omitted ...]\n") {
			if bare && n > 0 {
				n--
			}
			continue
		}
		n += len(strings.Replace(l, lineCut, "", 1))
	}
	return int64(n)
}

func headIsBare(b *buffer, since int64) bool {
	head := b.head[:len(b.head)-unfinished(b.head)]
	return since < int64(len(head)) && head[len(head)-1] != '\n'
}

func FuzzRender(f *testing.F) {
	f.Add([]byte("a\nb"), int64(0), true, 1)
	f.Add([]byte("\xf0\x9d\x84"), int64(1), false, 9000)
	f.Fuzz(func(t *testing.T, data []byte, since int64, end bool, times int) {
		b := newBuffer()
		for range max(1, min(times, 5000)) {
			b.write(data)
			if b.total > 100_000 {
				break
			}
		}
		if end {
			b.finish(exit{})
		}
		r := b.view().render(max(0, since))
		if !utf8.ValidString(r.text) || r.gap < 0 || r.next > b.total || r.next < b.total-3 {
			t.Fatalf("next %d gap %d of %d", r.next, r.gap, b.total)
		}
		if len(r.text) > 4*(keepHead+keepTail) {
			t.Fatalf("%d bytes", len(r.text))
		}
		for l := range strings.Lines(r.text) {
			if len(strings.TrimSuffix(l, "\n")) > maxLine {
				t.Fatalf("a line of %d bytes", len(l))
			}
		}
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBuffer()
		began := time.Now()
		b.wait(t.Context(), 3*time.Second)
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("waited %v", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b.wait(ctx, time.Hour)
		if d := time.Since(began); d != 4*time.Second {
			t.Errorf("waited %v", d)
		}
		time.AfterFunc(time.Second, func() { b.finish(exit{code: 3}) })
		b.wait(t.Context(), time.Hour)
		if ended, e := b.state(); !ended || e.code != 3 || time.Since(began) != 5*time.Second {
			t.Error(ended, e, time.Since(began))
		}
		b.wait(t.Context(), time.Hour)
		if time.Since(began) != 5*time.Second {
			t.Error("waited for what has ended")
		}
	})
}

// TestManyWaitersCancelledAtEntry is of case 50.
func TestManyWaitersCancelledAtEntry(t *testing.T) {
	b := newBuffer()
	var all sync.WaitGroup
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() { b.wait(ctx, time.Hour) })
		all.Go(cancel)
	}
	all.Wait()
	for range 1000 {
		all.Go(func() { b.wait(t.Context(), time.Hour) })
	}
	b.finish(exit{})
	all.Wait()
}
