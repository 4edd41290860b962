package mcp

import (
	"net/url"
	"testing"
)

// TestSecureSignIn: a server that is reached over https has no part of its sign-in in clear.
func TestSecureSignIn(t *testing.T) {
	for name, c := range map[string]struct {
		issuer string
		at     endpoints
		want   bool
	}{
		"all":          {"https://a.example", endpoints{Auth: "https://a.example/a", Token: "https://t.example/t", Register: "https://a.example/r"}, true},
		"no registry":  {"https://a.example", endpoints{Auth: "https://a.example/a", Token: "https://t.example/t"}, true},
		"issuer":       {"http://a.example", endpoints{Auth: "https://a.example/a", Token: "https://a.example/t"}, false},
		"sign-in":      {"https://a.example", endpoints{Auth: "http://a.example/a", Token: "https://a.example/t"}, false},
		"tokens":       {"https://a.example", endpoints{Auth: "https://a.example/a", Token: "http://a.example/t"}, false},
		"registration": {"https://a.example", endpoints{Auth: "https://a.example/a", Token: "https://a.example/t", Register: "http://a.example/r"}, false},
		"no address":   {"https://a.example", endpoints{Auth: "https://a.example/a", Token: "https://a b/%"}, false},
	} {
		u, err := url.Parse(c.issuer)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.at.secure(u); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
