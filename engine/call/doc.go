// Package call wraps a chat.Model with the error table, retries and guards of one model call (engine.md 10 and 1).
//
// Its types are Model, made by New, and Options. Classify is the error table alone.
//
// Caveats: a Delta with Retry voids everything of the reply before it. context_full and no_tools are never retried here, since the
// next attempt needs another request; the caller makes it. The speeds that the guards use are kept in memory and forgotten with
// the process.
package call
