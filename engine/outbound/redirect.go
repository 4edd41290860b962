package outbound

import (
	"net/http"
)

// follows are the headers that another origin gets, too.
var follows = []string{"Accept", "Accept-Language", "User-Agent"}

// redirect decides on a redirect; the request that follows from it is judged as any other.
func (d *door) redirect(req *http.Request, via []*http.Request) error {
	if d.purpose.Model || d.purpose.Declared {
		// It would carry what is meant for the one server to a place that nobody entered.
		return http.ErrUseLastResponse
	}
	at, ok := targetOf(req.URL)
	reason := ""
	switch {
	case !ok:
		reason = reasonScheme
	case len(via) > maxRedirects:
		reason = reasonMany
	case !sameOrigin(req, via[0]) && req.Body != nil && req.Body != http.NoBody:
		reason = reasonBody
	}
	if reason != "" {
		if err := d.room.note(req.Context(), d.purpose, at, "", reason); err != nil {
			return err
		}
		return denied(reason, at, "")
	}
	if !sameOrigin(req, via[0]) {
		kept := http.Header{}
		for _, name := range follows {
			if values := req.Header.Values(name); len(values) > 0 {
				kept[name] = values
			}
		}
		req.Header = kept
		req.URL.User = nil
	}
	// The address that was asked may itself hold a secret.
	req.Header.Del("Referer")
	return nil
}

func sameOrigin(a, b *http.Request) bool {
	x, _ := targetOf(a.URL)
	y, _ := targetOf(b.URL)
	return a.URL.Scheme == b.URL.Scheme && x == y
}
