// Package mcp keeps the MCP servers that admins have configured, and what people have agreed to of them.
//
// Room holds the commands; pages and the JSON API reach them through its Guarded form. Fields is what an admin sets of a server. Targets,
// Known, Preselected and Judge are for Turns and check no rights: Targets gives the servers of a Chat with their credentials, Judge holds a list
// of tools against what was accepted (chat.MCPPins). The first list of a server is accepted with its config; a tool that changes, or comes
// later, waits until an admin has accepted the difference.
//
// Secrets (client secret, key, headers, people's sign-ins) are sealed beside the record under a name of record and field. They are never given
// back, and do not follow a server to another host.
//
// Sign-ins are OAuth 2 with PKCE, per person: Connect begins one, Finish ends it for whoever holds its cookie, also after a restart. Where no
// client id is configured and the authorisation server takes registrations (RFC 7591) the appliance registers itself, once for each address
// that people reach it at. The protocol of MCP itself
// stands elsewhere; this room talks to authorisation servers only.
package mcp

//go:generate go run holdfast/engine/guardgen
