// Package mcp speaks to MCP servers, and is the only room that knows the library for it.
//
// A Server says where one stands and how it is reached: over streamable HTTP or SSE with an *http.Client that is handed in, or on the
// streams of a program that somebody else has already confined and started (Process). Dial connects and gives a Conn: Tools lists what
// the server offers, Call makes one call, Changed says that the server announced another list, Close ends it. Every failure is an
// *Error with a Kind; nothing here panics, hangs past its time or grows past its limits because of what a server does:
//
//   - one answer, and one line or event of a stream, has at most 8 MiB; what is longer ends the call as TooLarge
//   - lists are bounded in tools, pages and bytes; a tool whose definition cannot be used is left out and counted, alone
//   - a call has 60 s, or ends with its context; the server is told where the transport can tell it
//   - a server gets no sampling, no roots and no questions to the person; what it asks of that is refused
//   - Close of a program closes its input, terminates it after 2 s and kills it after 2 s more
//
// Credentials of a Server go out to its own origin alone, also behind a redirect, and are taken out of what a server says.
//
// Source is the chat.ToolSource over the servers that an appliance's admins have configured: names, lists, accepted definitions, arguments and
// Results follow tools.md there. A program beside a workspace's files needs Dial and Conn alone.
package mcp
