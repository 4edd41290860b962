// Package chattool is what a program of the MCP protocol may do with an appliance: list, start, send to, wait for, interrupt and read chats.
//
// Tools are made over a client of the API, so that whoever calls has the rights of its token and no others: one that may only read is
// refused by the appliance where a tool writes. Nothing here knows how a call arrives.
package chattool
