// Package link is both ends of the wire between the appliance and an Agent: `holdfast --agent` beside the files of a Workspace.
//
// Agent dials out: a WebSocket, yamux in it, HTTP/1.1 in its streams, both ways. Appliance takes these links, one per Agent: the
// newest that has proven its key wins. On a link the appliance calls /api/v0 (API, which serves a chat.Workspace) and the Agent the
// service of package wire. Appliance.Open gives a chat.Workspace over the link that outlives it: what waits goes on over the next link
// within a minute.
//
// Caveats: what an Agent sends is not trusted; sizes and shapes are checked on arrival. Starts, writes and edits are repeated under one
// id or key, so that a lost answer never makes a thing happen twice; reads are simply asked again. A plain connection has no key of the
// appliance to prove, so the Agent dials one to this machine only, unless it is told otherwise.
package link
