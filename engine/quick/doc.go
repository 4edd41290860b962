// Package quick makes small generations beside a Turn: the title of a Chat (engine.md 13).
//
// Title asks a model, FallbackTitle asks nobody. Caveat: a failure of Title changes nothing but the log; the caller keeps the
// title it has.
package quick
