// Package search finds Chats by the words of their titles and Messages, and keeps the term index behind that.
//
// Room is the command room: Search is its one command, Committed the port through which the engine tells which Chat changed, Start and
// Close bracket the one goroutine that indexes. Query is what a person typed, taken apart; Hit one Chat that matches.
//
// What matches. A Chat matches when each word is the beginning of a term of its title or of a text that a person sees in it: what they
// wrote (names and contents of file references included) and what the model answered. Reasoning, Calls and Results are not searched. Each
// word may stand in another Message. An identifier is found from its beginning and from each of its parts on (camelCase, snake_case).
// Letters are compared without case and without the marks on Latin letters. Scripts without spaces are searched by pairs of letters, so
// that a longer run of them matches where all its pairs stand, not only where they stand in a row. Sub-agents' Chats are indexed, but
// the list shows roots only.
//
// Exact at once. For each Chat the index says up to which Message it holds it; a search reads what is above that, and a title that was
// changed, from the store itself. So what the index lacks costs time and never a hit, and it can be dropped and made anew at any moment:
// it is dropped when a part of it is found damaged. Edits make deletion marks, and a Chat with a newer mark counts as not indexed.
//
// The index is a set of immutable segments per person (kv, TermWriter), made from small batches and merged as they grow, in small commits
// with pauses in between while others write, and not at all for a while when very many do (crowd). Nothing here stands in the way of a Turn's commit. No transaction spans more than a few
// milliseconds of reading by intention; a search over Chats that are not indexed takes as many as it needs.
package search

//go:generate go run holdfast/engine/guardgen
