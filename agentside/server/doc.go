// Package server runs the MCP servers that the files of a Workspace name, once a person has approved them.
//
// A Provider holds those of one Workspace. Load takes the MCP configs that package wctx found; each entry stands alone, is parsed, resolved
// to the files that would run, and sealed. What nobody has approved is only listed. What is approved is started through Options.Start, or
// reached through Options.Dial, and kept: a program that ends is started again after a second, then after two, up to a minute. Resources
// and List show what there is, Call makes calls. The protocol is not known here: Session is the port, which main fills from tools/mcp.
//
// Everything in a config is hostile, and so is what a server says. Nothing of an entry runs, is looked up or called before its approval;
// approvals are kept outside of the Workspace, sealed with the key of this machine. What servers say of their failures is shown without
// the values of variables, headers, arguments and addresses.
//
// Caveats: an approval covers the entry, its program and the files of the Workspace that its arguments name, not what these load. A program
// is compared when it starts, before each call, and whenever somebody looks.
package server
