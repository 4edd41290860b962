// Package api is the JSON API for programs: the routes below /api/v1 and its alias /api/experimental (spec api.md).
//
// New makes an API of the rooms' Guarded forms, and Routes gives the table for the Gate. What goes over the wire are the types of
// ui/api/client; one serialiser makes them from the records, for answers and for the chat stream alike, so that internal fields
// never leave. The OpenAPI document is made from the same table and types.
//
// Caveats: handlers hold no state; a stream lives as long as its reader, its credential and the process.
package api
