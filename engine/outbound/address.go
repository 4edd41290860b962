package outbound

import (
	"net/netip"
	"strings"
)

// place is where an address leads.
type place int

const (
	// public addresses can be reached by everybody.
	public place = iota
	// local ones are this machine's or its network's: an admin may allow them one by one.
	local
	// never are addresses of nothing, and those that hide another one.
	never
)

// localNets and neverNets are beyond what netip itself tells.
var (
	localNets = prefixes("100.64.0.0/10", "169.254.0.0/16", "198.18.0.0/15", "192.0.0.0/24", "fec0::/10")
	neverNets = prefixes("0.0.0.0/8", "240.0.0.0/4", "192.88.99.0/24", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64",
		"2001::/32", "2002::/16")
)

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

// placeOf judges one address. An IPv4 address inside an IPv6 one is never what it looks like, so it leads nowhere.
func placeOf(a netip.Addr) place {
	switch {
	case !a.IsValid(), a.Is4In6(), a.IsUnspecified(), a.IsMulticast():
		return never
	case a.IsLoopback():
		return local
	case within(a, neverNets):
		return never
	case a.Zone() != "", a.IsPrivate(), a.IsLinkLocalUnicast(), within(a, localNets):
		return local
	}
	return public
}

func within(a netip.Addr, nets []netip.Prefix) bool {
	for _, p := range nets {
		if p.Contains(a.WithZone("")) {
			return true
		}
	}
	return false
}

// endsInNumber says whether resolvers take a name for an IPv4 address in another spelling, such as 2130706433, 0x7f.1 or 127.1.
func endsInNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return true
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(last), "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// plainHost is a host as it is compared and shown: in lower case, without the dot of the root.
func plainHost(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// isLocalName says that a name is this machine's without a question to anybody.
func isLocalName(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
