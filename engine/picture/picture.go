package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // GIF is decoded, too.
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // WebP is decoded, too.
)

// Bounds of a Picture, and of what is decoded to make one.
const (
	MaxSide   = 1568
	MaxBytes  = 2 << 20
	maxPixels = 16 << 20
)

// quality of the JPEGs that are written.
const quality = 85

// Picture is an image that can be shown.
type Picture struct {
	Data          []byte
	MediaType     string
	Width, Height int
}

// one is held while an image is decoded.
var one = make(chan struct{}, 1)

// errKind is what the bytes of no image are.
var errKind = errors.New("it is not PNG, JPEG, GIF or WebP")

// Fit decodes an image and makes it as small as it must be. Its error says why there is no Picture.
func Fit(ctx context.Context, data []byte) (Picture, error) {
	about, kind, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case errors.Is(err, image.ErrFormat):
		return Picture{}, errKind
	case err != nil || about.Width <= 0 || about.Height <= 0:
		return Picture{}, errors.New("it cannot be read")
	case int64(about.Width)*int64(about.Height) > maxPixels:
		return Picture{}, fmt.Errorf("its %d x %d pixels are more than %d million", about.Width, about.Height, maxPixels>>20)
	}
	select {
	case one <- struct{}{}:
		defer func() { <-one }()
	case <-ctx.Done():
		return Picture{}, context.Cause(ctx)
	}
	decoded, err := decode(ctx, data)
	if ctx.Err() != nil {
		return Picture{}, context.Cause(ctx)
	}
	if err != nil {
		return Picture{}, errors.New("it cannot be read")
	}
	size := decoded.Bounds().Size()
	if size.X <= 0 || size.Y <= 0 {
		return Picture{}, errors.New("it is empty")
	}
	if max(size.X, size.Y) <= MaxSide && len(data) <= MaxBytes && kind != "gif" {
		return Picture{Data: data, MediaType: "image/" + kind, Width: size.X, Height: size.Y}, nil
	}
	return encode(scaled(decoded), kind == "jpeg")
}

// piece is how much of an image a decoder is given at once.
const piece = 16 << 10

// pieces gives an image in pieces until its context ends: decoders read as they go, so that one ends with the piece that it has.
type pieces struct {
	ctx  context.Context
	rest *bytes.Reader
}

// Read gives the next piece.
func (p pieces) Read(b []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	return p.rest.Read(b[:min(len(b), piece)])
}

// decode takes a decoder's panic for an image that cannot be read.
func decode(ctx context.Context, data []byte) (decoded image.Image, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	decoded, _, err = image.Decode(pieces{ctx, bytes.NewReader(data)})
	return decoded, err
}

// scaled makes the longer side fit.
func scaled(from image.Image) image.Image {
	b := from.Bounds()
	long := max(b.Dx(), b.Dy())
	if long <= MaxSide {
		return from
	}
	side := func(n int) int { return max(1, (n*MaxSide+long/2)/long) }
	out := image.NewNRGBA(image.Rect(0, 0, side(b.Dx()), side(b.Dy())))
	draw.CatmullRom.Scale(out, out.Bounds(), from, b, draw.Src, nil)
	return out
}

// encode writes a photograph as JPEG, and all else as PNG unless that is too long.
func encode(from image.Image, photo bool) (Picture, error) {
	size := from.Bounds().Size()
	var b bytes.Buffer
	if !photo {
		if err := png.Encode(&b, from); err != nil {
			return Picture{}, fmt.Errorf("it cannot be written: %w", err)
		}
		if b.Len() <= MaxBytes {
			return Picture{Data: b.Bytes(), MediaType: "image/png", Width: size.X, Height: size.Y}, nil
		}
		b.Reset()
	}
	if err := jpeg.Encode(&b, onWhite(from), &jpeg.Options{Quality: quality}); err != nil {
		return Picture{}, fmt.Errorf("it cannot be written: %w", err)
	}
	if b.Len() > MaxBytes {
		return Picture{}, fmt.Errorf("it is larger than %d MiB", MaxBytes>>20)
	}
	return Picture{Data: b.Bytes(), MediaType: "image/jpeg", Width: size.X, Height: size.Y}, nil
}

// onWhite is an image without holes: JPEG knows none.
func onWhite(from image.Image) image.Image {
	if whole, ok := from.(interface{ Opaque() bool }); ok && whole.Opaque() {
		return from
	}
	out := image.NewRGBA(image.Rectangle{Max: from.Bounds().Size()})
	draw.Draw(out, out.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, out.Bounds(), from, from.Bounds().Min, draw.Over)
	return out
}
