package view

import "strconv"

// OutboundPage is whom the appliance called, and how far it may.
type OutboundPage struct {
	Page Page
	Note ServerNote
	// Mode holds; Bound is the loosest that may be chosen here, "" for any.
	Mode, Bound string
	ModeError   string
	// Called: something went out of this machine.
	Called bool
	// LookedUp: nobody was called, but a name was asked for.
	LookedUp bool
	Hosts    []OutboundHost
	Allowed  []OutboundAllowed
	// Typed is what was refused of the form, AllowError why.
	Typed      OutboundAllowed
	AllowError string
}

// OutboundHost is a host with its attempts.
type OutboundHost struct {
	Host, Port      string
	Called, Refused int64
	Last            string
	// Waits: a click lets the next attempt pass; Local: as a local address.
	Waits, Local bool
	Attempts     []OutboundAttempt
	// More is how many kinds of attempts are not shown.
	More int
}

// OutboundAttempt stands for attempts that were alike.
type OutboundAttempt struct {
	Purpose, Address, Reason string
	Allowed                  bool
	Count                    int64
}

// OutboundAllowed is a host that an admin has allowed, or what was typed for one.
type OutboundAllowed struct {
	Host, Port string
	Local      bool
	Since      string
}

// outboundModes are the choices, in the order of their freedom.
var outboundModes = []struct{ value, name, words string }{
	{"deny", "Offline", "Only the model server, and local addresses that are allowed below."},
	{"ask", "Ask", "A new host is refused until an admin allows it here."},
	{"open", "Open", "Every public host. Local addresses are refused unless they are allowed below."},
}

// looser says whether a mode is looser than the bound.
func looser(mode, bound string) bool {
	at := map[string]int{"deny": 1, "ask": 2, "open": 3}
	return bound != "" && at[mode] > at[bound]
}

func (a OutboundAttempt) words() string {
	out := a.Purpose
	if a.Address != "" {
		out += ", at " + a.Address
	}
	if a.Reason != "" {
		out += ": " + a.Reason
	}
	if a.Count > 1 {
		out += ", " + strconv.FormatInt(a.Count, 10) + " times"
	}
	return out
}
