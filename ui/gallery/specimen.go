package gallery

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/a-h/templ"
)

var idAttr = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(` (id|for|form|aria-labelledby|aria-describedby|aria-controls|popovertarget)="([^"]+)"`)
})

// apart renders components with ids of their own, so that the same one can stand on a page many times.
func apart(n int, list ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var out bytes.Buffer
		for _, c := range list {
			if err := c.Render(ctx, &out); err != nil {
				return err
			}
		}
		own := "g" + strconv.Itoa(n) + "-"
		_, err := io.WriteString(w, idAttr().ReplaceAllStringFunc(out.String(), func(attr string) string {
			name, ids, _ := strings.Cut(strings.TrimSuffix(attr, `"`), `="`)
			// Some attributes name several.
			return name + `="` + own + strings.Join(strings.Fields(ids), " "+own) + `"`
		}))
		return err
	})
}

// specimen is a labelled state. Rail, Bare choose its frame; Turn puts it on the text edge of the transcript.
type specimen struct {
	Label string
	Frame string
	List  []templ.Component
}

func frameClass(s specimen) string { return strings.TrimSpace("frame " + s.Frame) }

// each gives every component a number of its own within a specimen: two of a kind would share their ids.
func each(s specimen) []templ.Component {
	out := make([]templ.Component, len(s.List))
	for i, c := range s.List {
		out[i] = apart(i, c)
	}
	return out
}
