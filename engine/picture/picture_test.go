package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
)

// noise is an image that does not compress.
func noise(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = byte(r.Uint32()) | 0xff*byte(i%4/3)
	}
	return m
}

// plain is an image of one colour, with a hole.
func plain(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := 0; i < len(m.Pix); i += 4 {
		copy(m.Pix[i:], []byte{200, 100, 0, 255})
	}
	m.SetNRGBA(0, 0, color.NRGBA{})
	return m
}

func pngOf(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gifOf(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gif.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// dot is a WebP of one pixel, without loss.
var dot = []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")

// bomb is a PNG of 60 KB that would be 3.6 GB of pixels.
func bomb(t testing.TB) []byte {
	t.Helper()
	small := pngOf(t, plain(8, 8))
	at := bytes.Index(small, []byte("IHDR"))
	binary.BigEndian.PutUint32(small[at+4:], 30000)
	binary.BigEndian.PutUint32(small[at+8:], 30000)
	binary.BigEndian.PutUint32(small[at+17:], crc32.ChecksumIEEE(small[at:at+17]))
	return small
}

func TestFit(t *testing.T) {
	for name, c := range map[string]struct {
		in            []byte
		width, height int
		kind, why     string
		same          bool
	}{
		"small png":       {in: pngOf(t, plain(20, 10)), width: 20, height: 10, kind: "image/png", same: true},
		"small jpeg":      {in: jpegOf(t, plain(30, 40)), width: 30, height: 40, kind: "image/jpeg", same: true},
		"webp":            {in: dot, width: 1, height: 1, kind: "image/webp", same: true},
		"gif":             {in: gifOf(t, plain(50, 60)), width: 50, height: 60, kind: "image/png"},
		"wide png":        {in: pngOf(t, plain(3136, 100)), width: 1568, height: 50, kind: "image/png"},
		"tall jpeg":       {in: jpegOf(t, plain(10, 4704)), width: 3, height: 1568, kind: "image/jpeg"},
		"a line":          {in: pngOf(t, plain(16000, 1)), width: 1568, height: 1, kind: "image/png"},
		"just fits":       {in: pngOf(t, plain(1568, 2)), width: 1568, height: 2, kind: "image/png", same: true},
		"noise":           {in: pngOf(t, noise(900, 900)), width: 900, height: 900, kind: "image/jpeg"},
		"more noise":      {in: jpegOf(t, noise(1568, 1568)), width: 1568, height: 1568, kind: "image/jpeg"},
		"bomb":            {in: bomb(t), why: "30000 x 30000 pixels are more than 16 million"},
		"half a png":      {in: pngOf(t, noise(20, 20))[:200], why: "cannot be read"},
		"no pixels":       {in: pngOf(t, plain(20, 20))[:40], why: "cannot be read"},
		"a page":          {in: []byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), why: "not PNG"},
		"nothing":         {why: "not PNG"},
		"bytes behind it": {in: append(pngOf(t, plain(4, 4)), "tail"...), width: 4, height: 4, kind: "image/png", same: true},
	} {
		got, err := Fit(t.Context(), c.in)
		if c.why != "" {
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || got.Width != c.width || got.Height != c.height || got.MediaType != c.kind || len(got.Data) > MaxBytes {
			t.Errorf("%s: %d x %d, %s, %d bytes, %v", name, got.Width, got.Height, got.MediaType, len(got.Data), err)
			continue
		}
		if c.same != bytes.Equal(got.Data, c.in) {
			t.Errorf("%s: the same bytes: %v", name, !c.same)
		}
		about, kind, err := image.DecodeConfig(bytes.NewReader(got.Data))
		if err != nil || about.Width != c.width || about.Height != c.height || "image/"+kind != c.kind {
			t.Errorf("%s: what came is %+v, %s, %v", name, about, kind, err)
		}
	}
}

// What is scaled keeps its colours, and its holes where the format has them.
func TestScaledColours(t *testing.T) {
	m := plain(1600, 1600)
	for y := range 800 {
		for x := range 800 {
			m.SetNRGBA(x, y, color.NRGBA{})
		}
	}
	got, err := Fit(t.Context(), pngOf(t, m))
	if err != nil {
		t.Fatal(err)
	}
	small, err := png.Decode(bytes.NewReader(got.Data))
	if err != nil {
		t.Fatal(err)
	}
	if c := color.NRGBAModel.Convert(small.At(1200, 1200)); c != (color.NRGBA{200, 100, 0, 255}) {
		t.Errorf("the colour became %v", c)
	}
	if _, _, _, a := small.At(300, 300).RGBA(); a != 0 {
		t.Errorf("the hole became %d", a)
	}
}

func TestFitEndsWithItsContext(t *testing.T) {
	one <- struct{}{}
	defer func() { <-one }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fit(ctx, pngOf(t, plain(2, 2))); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestADecoderEndsWithItsContext: a large image whose call is stopped is not decoded to its end.
func TestADecoderEndsWithItsContext(t *testing.T) {
	for name, data := range map[string][]byte{"png": pngOf(t, noise(700, 500)), "jpeg": jpegOf(t, noise(700, 500)), "gif": gifOf(t, noise(700, 500))} {
		ctx, cancel := context.WithCancel(t.Context())
		rest := bytes.NewReader(data)
		end := &stopsAt{pieces: pieces{ctx, rest}, left: 3, stop: cancel}
		if _, _, err := image.Decode(end); err == nil {
			t.Errorf("%s: decoded whole", name)
		}
		if read := len(data) - rest.Len(); len(data) < 6*piece || read > 3*piece {
			t.Errorf("%s: %d of %d bytes were read", name, read, len(data))
		}
		cancel()
		if _, err := decode(ctx, data); err == nil {
			t.Errorf("%s: decoded with a context that is over", name)
		}
	}
}

// stopsAt ends the context behind a number of pieces.
type stopsAt struct {
	pieces
	left int
	stop func()
}

func (s *stopsAt) Read(b []byte) (int, error) {
	if s.left--; s.left < 0 {
		s.stop()
	}
	return s.pieces.Read(b)
}

// FuzzFit: whatever the bytes are, a Picture is within its bounds and can be read.
func FuzzFit(f *testing.F) {
	f.Add(pngOf(f, plain(3, 3)))
	f.Add(jpegOf(f, plain(9, 3)))
	f.Add(gifOf(f, plain(3, 9)))
	f.Add(dot)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Fit(t.Context(), data)
		if err != nil {
			return
		}
		about, kind, err := image.DecodeConfig(bytes.NewReader(got.Data))
		if err != nil || "image/"+kind != got.MediaType || max(about.Width, about.Height) > MaxSide || len(got.Data) > MaxBytes {
			t.Errorf("%s, %+v, %d bytes: %v", kind, about, len(got.Data), err)
		}
	})
}
