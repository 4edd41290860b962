//go:build browser

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const (
	// frameGap is the shortest time that a picture of a recording stands, finalFrame how long the last one does.
	frameGap, finalFrame = 90 * time.Millisecond, 3 * time.Second
	// recordingLimit bounds the file of one recording.
	recordingLimit = 1_500_000
)

// recording is what a tab shows over time.
type recording struct {
	page   *page
	forget func()
	wg     sync.WaitGroup

	mu     sync.Mutex // guards frames
	frames []*cdppage.EventScreencastFrame
}

// record begins to keep what the tab paints.
func (p *page) record() *recording {
	p.t.Helper()
	ctx, forget := context.WithCancel(p.ctx)
	r := &recording{page: p, forget: forget}
	chromedp.ListenTarget(ctx, func(ev any) {
		f, ok := ev.(*cdppage.EventScreencastFrame)
		if !ok {
			return
		}
		r.mu.Lock()
		r.frames = append(r.frames, f)
		r.mu.Unlock()
		// The next picture comes when this one was acknowledged, which the listener itself must not wait for.
		r.wg.Go(func() {
			if err := chromedp.Run(p.ctx, cdppage.ScreencastFrameAck(f.SessionID)); err != nil {
				p.t.Errorf("acknowledge a picture: %v", err)
			}
		})
	})
	p.do("begin the recording", cdppage.StartScreencast().WithFormat(cdppage.ScreencastFormatPng))
	return r
}

// end stops the recording and writes it as an animated GIF.
func (r *recording) end(file string) {
	t := r.page.t
	t.Helper()
	r.page.do("end the recording", cdppage.StopScreencast())
	r.forget()
	r.wg.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	shots, at, err := r.spaced()
	if err != nil {
		t.Fatal(err)
	}
	if len(shots) < 8 {
		t.Fatalf("%s: %d pictures are no recording", file, len(shots))
	}
	b, err := animated(shots, at)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > recordingLimit {
		t.Errorf("%s has %d bytes in %d pictures, more than %d", file, len(b), len(shots), recordingLimit)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// spaced decodes the pictures that stood for long enough to be seen.
func (r *recording) spaced() (shots []image.Image, at []time.Time, err error) {
	for i, f := range r.frames {
		now := f.Metadata.Timestamp.Time()
		if i+1 < len(r.frames) && len(at) > 0 && r.frames[i+1].Metadata.Timestamp.Time().Sub(at[len(at)-1]) < 2*frameGap && now.Sub(at[len(at)-1]) < frameGap {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(f.Data)
		if err != nil {
			return nil, nil, err
		}
		img, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			return nil, nil, err
		}
		shots, at = append(shots, img), append(at, now)
	}
	return shots, at, nil
}

// animated encodes pictures as a GIF that holds, after the first, only what changed.
func animated(shots []image.Image, at []time.Time) ([]byte, error) {
	ink := inkOf(shots)
	out := gif.GIF{Config: image.Config{ColorModel: ink.palette, Width: shots[0].Bounds().Dx(), Height: shots[0].Bounds().Dy()}}
	var before *image.Paletted
	for i, shot := range shots {
		if shot.Bounds() != shots[0].Bounds() {
			return nil, fmt.Errorf("picture %d is %v, the first %v", i, shot.Bounds(), shots[0].Bounds())
		}
		now := ink.paint(shot)
		part := changed(before, now)
		if before = now; part == nil && len(out.Image) > 0 {
			out.Delay[len(out.Delay)-1] += hundredths(at, i)
			continue
		}
		out.Image, out.Disposal, out.Delay = append(out.Image, part), append(out.Disposal, gif.DisposalNone), append(out.Delay, hundredths(at, i))
	}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &out)
	return b.Bytes(), err
}

// hundredths is how long the i-th picture stands.
func hundredths(at []time.Time, i int) int {
	d := finalFrame
	if i+1 < len(at) {
		d = at[i+1].Sub(at[i])
	}
	return int(min(max(d, frameGap), finalFrame) / (10 * time.Millisecond))
}

// changed is the smallest part of now that differs from before, what is the same in it left open; nil when nothing differs.
func changed(before, now *image.Paletted) *image.Paletted {
	if before == nil {
		return now
	}
	var area image.Rectangle
	size := now.Bounds()
	for y := range size.Dy() {
		a, b := before.Pix[y*before.Stride:][:size.Dx()], now.Pix[y*now.Stride:][:size.Dx()]
		if bytes.Equal(a, b) {
			continue
		}
		first, last := 0, len(a)-1
		for a[first] == b[first] {
			first++
		}
		for a[last] == b[last] {
			last--
		}
		area = area.Union(image.Rect(first, y, last+1, y+1))
	}
	if area.Empty() {
		return nil
	}
	part := image.NewPaletted(area, now.Palette)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if c := now.ColorIndexAt(x, y); c != before.ColorIndexAt(x, y) {
				part.SetColorIndex(x, y, c)
			}
		}
	}
	return part
}

// ink are the colours that pictures are painted with: index 0 is open, the others are the most frequent ones.
type ink struct {
	palette color.Palette
	// near caches the index by colour, of which six bits of each channel count.
	near map[uint32]uint8
}

func bucket(c color.RGBA) uint32 { return uint32(c.R>>2)<<12 | uint32(c.G>>2)<<6 | uint32(c.B>>2) }

func inkOf(shots []image.Image) *ink {
	count, exact := map[uint32]int{}, map[uint32]map[color.RGBA]int{}
	for _, s := range shots {
		img := rgba(s)
		for i := 0; i < len(img.Pix); i += 4 {
			c := color.RGBA{img.Pix[i], img.Pix[i+1], img.Pix[i+2], 255}
			k := bucket(c)
			if count[k]++; exact[k] == nil {
				exact[k] = map[color.RGBA]int{}
			}
			exact[k][c]++
		}
	}
	keys := make([]uint32, 0, len(count))
	for k := range count {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b uint32) int { return cmp.Or(count[b]-count[a], int(a)-int(b)) })
	out := &ink{palette: color.Palette{color.RGBA{}}, near: map[uint32]uint8{}}
	for _, k := range keys[:min(len(keys), 255)] {
		best, most := color.RGBA{}, 0
		for c, n := range exact[k] {
			if n > most || n == most && bytes.Compare([]byte{c.R, c.G, c.B}, []byte{best.R, best.G, best.B}) < 0 {
				best, most = c, n
			}
		}
		out.palette = append(out.palette, best)
	}
	return out
}

// paint gives a picture in these colours, each as near as there is one.
func (i *ink) paint(shot image.Image) *image.Paletted {
	img := rgba(shot)
	out := image.NewPaletted(img.Bounds(), i.palette)
	for n := range out.Pix {
		c := color.RGBA{img.Pix[4*n], img.Pix[4*n+1], img.Pix[4*n+2], 255}
		k := bucket(c)
		index, ok := i.near[k]
		if !ok {
			index = uint8(1 + i.palette[1:].Index(c))
			i.near[k] = index
		}
		out.Pix[n] = index
	}
	return out
}

func rgba(img image.Image) *image.RGBA {
	if already, ok := img.(*image.RGBA); ok {
		return already
	}
	out := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(out, out.Bounds(), img, img.Bounds().Min, draw.Src)
	return out
}

// capture writes what the tab shows as a PNG of at most 255 colours, which is a third of the size.
func (p *page) capture(file string) {
	p.t.Helper()
	p.until(`document.fonts.status==='loaded'`)
	p.do("take "+file, chromedp.ActionFunc(func(ctx context.Context) error {
		raw, err := cdppage.CaptureScreenshot().Do(ctx)
		if err != nil {
			return err
		}
		img, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, inkOf([]image.Image{img}).paint(img)); err != nil {
			return err
		}
		if b.Len() < 3000 {
			return fmt.Errorf("%d bytes: an empty picture", b.Len())
		}
		return os.WriteFile(file, b.Bytes(), 0o600)
	}))
}

// pause lets a recording stand for who looks at it; no test hangs on it.
func (p *page) pause(d time.Duration) {
	p.t.Helper()
	p.do("stand still", chromedp.Sleep(d))
}

// pointAt draws a ring where the next press will be, as a recording shows no pointer.
func (p *page) pointAt(selector string) {
	p.t.Helper()
	p.eval(`(e=>{const r=e.getBoundingClientRect(),d=document.createElement('div');d.id='pointer';document.getElementById('pointer')?.remove();
Object.assign(d.style,{position:'fixed',left:r.left+Math.min(r.width/2,200)-12+'px',top:r.top+Math.min(r.height/2,20)-12+'px',width:'24px',height:'24px',borderRadius:'50%',
border:'3px solid rgb(200 60 20)',pointerEvents:'none',zIndex:9});document.body.append(d);setTimeout(()=>d.remove(),600);return 1})(document.querySelector(` + js(selector) + `))`)
}

// shotsDir is where pictures for the documentation go: a folder that goes, where nobody wants them.
func shotsDir(t *testing.T) string {
	if dir := os.Getenv("HOLDFAST_SHOTS"); dir != "" {
		return dir
	}
	return t.TempDir()
}

func pictureName(name string, width int64, dark bool) string {
	theme := "light"
	if dark {
		theme = "dark"
	}
	return fmt.Sprintf("%s-%d-%s.png", name, width, theme)
}
