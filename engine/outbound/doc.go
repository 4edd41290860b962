// Package outbound is the one way out of the appliance: the dialer, the resolver, and the ledger of whom it called or would have called.
//
// Types: Room holds mode, allowed hosts and ledger; Client gives another room an http.Client for one Purpose. Each request is judged
// before its name is looked up, each address after that, and the connection goes to exactly an address that was judged. Check judges
// what another program is about to do on our behalf.
//
// Rules: local addresses (loopback, private, link-local and the like) are refused unless the Purpose is the configured model server or an
// admin has allowed that host and port; at most 3 redirects, each judged anew; what a request carries beside its question does not follow
// to another origin; no proxy of the environment is used.
//
// Caveats: connections within this machine that are allowed are not in the ledger. What a program that a Tool starts calls is not seen
// here; the sandbox governs it. An idle connection of a Client may be used again until its host is refused; each request is judged.
package outbound

//go:generate go run holdfast/engine/guardgen
