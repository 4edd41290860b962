// Package client is the typed client of the JSON API (spec api.md), and the wire's types: the API itself writes and reads the same
// ones, so that neither side can drift.
//
// Client has a method per route. Make one with New for an http address, or with NewUnix for the appliance's socket. Stream follows a
// Chat across broken connections; Transcript applies its Frames. What the appliance refuses is a *chat.Error.
//
// Caveats: an error that is no *chat.Error means that nobody answered or that the answer was not ours; the request may still have
// been carried out. Every POST under /chats carries an Idempotency-Key, so it may be repeated safely with the same Options.
package client
