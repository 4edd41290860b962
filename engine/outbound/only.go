package outbound

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Only gives a client that reaches nothing but the hosts, with ports, that are named; refused says what it is told of another one. It is for
// an Agent: that has no store, so no ledger and nobody to ask, but somebody who started it. It follows nothing to another place, and has no
// proxy of the environment.
func Only(hosts []string, refused func(address string) error) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	return &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: dialTimeout, DisableCompression: true,
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if !slices.Contains(hosts, strings.ToLower(address)) {
					return nil, refused(address)
				}
				return dialer.DialContext(ctx, network, address)
			}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
