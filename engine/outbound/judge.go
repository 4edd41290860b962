package outbound

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strconv"

	"holdfast/engine/chat"
)

// target is whom a request names.
type target struct {
	host string
	port int
}

func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

// Reasons why something is refused, as the ledger and the metric have them; "" is allowed.
const (
	reasonOffline = "offline"
	reasonAsk     = "not allowed yet"
	reasonLocal   = "local address"
	reasonNever   = "no address to call"
	reasonOwn     = "the appliance itself"
	reasonScheme  = "not http or https"
	reasonMany    = "too many redirects"
	reasonBody    = "content for another origin"
	reasonLookup  = "the name was not found"
	reasonConnect = "no connection"
	reasonHanded  = "another program was asked to, and had not begun"
)

// reasons are the values of the metric's label.
var reasons = []string{"allowed", reasonOffline, reasonAsk, reasonLocal, reasonNever, reasonOwn, reasonScheme, reasonMany, reasonBody, reasonLookup, reasonConnect, reasonHanded}

// verdict is what is known of a target before any lookup.
type verdict struct {
	// reason is why it is refused, "" when it is not.
	reason string
	// local: the addresses may be local ones; public: they may be public ones.
	local, public bool
}

// judge looks at a target alone, before anything is looked up.
func (r *Room) judge(p Purpose, at target) verdict {
	if r.own(at) {
		return verdict{reason: reasonOwn}
	}
	where, literal := literalPlace(at.host)
	if literal && where == never {
		return verdict{reason: reasonNever}
	}
	now := r.rules.Load()
	if p.Model {
		return verdict{local: true, public: !now.sealed || p.Fixed != nil && p.Fixed()}
	}
	mayLocal, allowed := now.allowed[at]
	isLocal := literal && where == local || isLocalName(at.host)
	// Who entered an address of this machine or its network in the configuration has declared it.
	if p.Declared && isLocal {
		allowed, mayLocal = true, true
	}
	switch {
	case now.mode == chat.OutboundDeny:
		if !allowed || !mayLocal {
			return verdict{reason: reasonOffline}
		}
		return verdict{local: true}
	case isLocal && !mayLocal:
		return verdict{reason: reasonLocal}
	case now.mode == chat.OutboundAsk && !allowed && !p.Declared:
		return verdict{reason: reasonAsk}
	}
	return verdict{local: mayLocal || p.Declared, public: true}
}

// admits says why an address is refused under the verdict, "" when it is not.
func (r *Room) admits(v verdict, a netip.Addr, port int) string {
	switch placeOf(a) {
	case never:
		return reasonNever
	case local:
		if r.own(target{a.WithZone("").String(), port}) {
			return reasonOwn
		}
		if !v.local {
			return reasonLocal
		}
		return ""
	}
	if !v.public {
		return reasonOffline
	}
	return ""
}

// literalPlace judges a host that is an address, or that a resolver would take for one.
func literalPlace(host string) (place, bool) {
	if a, err := netip.ParseAddr(host); err == nil {
		return placeOf(a), true
	}
	if endsInNumber(host) {
		return never, true
	}
	return public, false
}

// targetOf gives the target of a URL; ok is false for what is neither http nor https.
func targetOf(u *url.URL) (at target, ok bool) {
	at.host = plainHost(u.Hostname())
	switch u.Scheme {
	case "http":
		at.port = 80
	case "https":
		at.port = 443
	default:
		return at, false
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return at, false
		}
		at.port = int(n)
	}
	return at, at.host != ""
}

// readTarget reads what a person entered.
func readTarget(host string, port int) (target, error) {
	at := target{plainHost(host), port}
	if a, err := netip.ParseAddr(at.host); err == nil {
		at.host = a.String()
	} else if u, err := url.Parse("http://" + at.host); err != nil || u.Host != at.host || u.Hostname() != at.host || at.host == "" || len(at.host) > 253 {
		return at, chat.Invalid("host", "a name or an address alone, such as example.org or 192.168.1.20")
	}
	if port < 1 || port > 65535 {
		return at, chat.Invalid("port", "a number from 1 to 65535")
	}
	return at, nil
}

// Check judges what another program is about to call on our behalf, such as the model server that fetches a model, and puts it in the
// ledger. The host has a port.
//
//guard:none rooms ask it before they start such a program
func (r *Room) Check(ctx context.Context, p Purpose, host string, port int) error {
	at := target{plainHost(host), port}
	v := r.judge(p, at)
	if err := r.note(ctx, p, at, "", v.reason); err != nil {
		return err
	}
	return denied(v.reason, at, "")
}

// Hand is Check for a call that the other program may never make, since it is not there itself: what the ledger has is that it was asked, and, once
// began is called, that the host was called.
//
//guard:none rooms ask it before they ask such a program
func (r *Room) Hand(ctx context.Context, p Purpose, host string, port int) (began func(), err error) {
	at := target{plainHost(host), port}
	v := r.judge(p, at)
	reason := v.reason
	if reason == "" {
		reason = reasonHanded
	}
	if err := r.note(ctx, p, at, "", reason); err != nil {
		return nil, err
	}
	return func() {
		if err := r.note(ctx, p, at, "", ""); err != nil {
			r.log.Warn("that another program began to call a host is not in the ledger, only that it was asked to", chat.LogError, err)
		}
	}, denied(v.reason, at, "")
}

// May judges a host that will be called later; where it may not be, it is listed, so that an admin can allow it. The host has a port.
//
//guard:none rooms ask it when somebody names a host
func (r *Room) May(ctx context.Context, p Purpose, host string, port int) error {
	at := target{plainHost(host), port}
	v := r.judge(p, at)
	if v.reason == "" {
		return nil
	}
	if err := r.note(ctx, p, at, "", v.reason); err != nil {
		return err
	}
	return denied(v.reason, at, "")
}

// denied is the error of a reason, nil for none.
func denied(reason string, at target, address string) error {
	if reason == "" {
		return nil
	}
	e := &chat.Error{Kind: chat.KindOutboundDenied, Message: "The appliance does not call " + at.String() + "."}
	switch reason {
	case reasonOffline:
		e.Detail = "It is offline: only the model server and local addresses that an admin has allowed are called."
	case reasonAsk:
		e.Detail = "An admin must allow it first, on the page System, Outbound."
	case reasonLocal:
		e.Detail = "It is this machine or stands in its network. An admin may allow it as a local address, on the page System, Outbound."
	case reasonNever:
		e.Detail = "No server can be reached at such an address."
	case reasonOwn:
		e.Detail = "That is the appliance itself."
	case reasonScheme:
		e.Detail = "Only http and https addresses are called."
	case reasonMany:
		e.Detail = "The server redirected more than " + strconv.Itoa(maxRedirects) + " times."
	case reasonBody:
		e.Detail = "The server wants the content sent to another server."
	}
	if address != "" && address != at.host {
		e.Detail += " Its address is " + address + "."
	}
	return e
}
