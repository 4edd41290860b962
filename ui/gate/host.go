package gate

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// SocketHost is the only Host that the Unix socket takes.
const SocketHost = "holdfast"

// refusedHost is the whole answer to a foreign Host; it says nothing about what is asked for.
const refusedHost = "This address is not one that Holdfast serves. If it is yours, start Holdfast with --host and this name and port.\n"

// hosts is the allow-list of Host values on TCP, in lower case.
type hosts map[string]bool

// newHosts allows the loopback names at each bound port, and the extra ones.
func newHosts(bound []net.Addr, extra []string) hosts {
	h := hosts{}
	for _, a := range bound {
		tcp, ok := a.(*net.TCPAddr)
		if !ok {
			continue
		}
		for _, name := range []string{"127.0.0.1", "[::1]", "localhost"} {
			h[name+":"+strconv.Itoa(tcp.Port)] = true
			if tcp.Port == 80 {
				// Browsers leave the port out where it is the scheme's own.
				h[name] = true
			}
		}
	}
	for _, name := range extra {
		h[strings.ToLower(name)] = true
	}
	return h
}

// allows says whether the request is addressed to us. The value is compared whole: user info, a trailing dot or anything else that
// would have to be parsed is simply not in the list.
func (h hosts) allows(r *http.Request) bool {
	if r.URL.Host != "" || r.URL.Scheme != "" {
		// An absolute request target replaces the Host header; only proxies are spoken to like that.
		return false
	}
	if onSocket(r) {
		return r.Host == SocketHost
	}
	return h[strings.ToLower(r.Host)]
}

// ownOrigin says whether an Origin header names the appliance under the Host of this very request.
func ownOrigin(r *http.Request, origin string) bool {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(origin, scheme+"://"+r.Host) && u.Host != ""
}

// onSocket: the request came over the Unix socket.
func onSocket(r *http.Request) bool {
	a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && a.Network() == "unix"
}
