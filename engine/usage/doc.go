// Package usage says what was used: cost, tokens and time of model calls, by chat, person, model and day; and keeps the limits.
//
// Room holds the commands; pages and the JSON API reach them through its Guarded form. CostMicros prices one call, for the engine, which
// writes an entry for each in the transaction of what the call was for. Check says for the engine whether somebody may go on.
//
// Caveats: money is integer micro-units of whatever the prices are in; nil is "no price known", 0 is free. Sums come from roll-ups by
// day in UTC, so ranges are whole days, both ends included. Titles of Chats are told to their owner only.
package usage

//go:generate go run holdfast/engine/guardgen
