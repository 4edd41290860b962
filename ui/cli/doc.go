// Package cli holds the commands that only speak the API's client: chat, token and, to an Agent on the same machine, context. Run is their entrance; an *Exit says with which
// code the process is to end.
//
// Caveats: a command finds the appliance through the Unix socket of its data directory, or by --server, and always sends a token;
// being the same user is no authority. What comes from a model or a Tool is printed without terminal escapes.
package cli
