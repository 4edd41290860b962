// Package probe finds out what a model can do by asking it: Run makes a capability test and gives a chat.Probe.
//
// Each question is one call, or a few, with the requests that a Turn would send. What a server says of its models is not believed but tried.
// A question that fails leaves a Finding with the reason; Run fails as a whole only where no further question could be answered. Speeds are
// the server's own times; a server that tells none leaves them unmeasured.
package probe
