// Package chat is the dictionary: the product's words as types, the pure transition table of a Chat, the fixed texts that a
// model sees, and the ports through which the rooms reach models, workspaces and tools.
//
// It imports the standard library only and does no I/O. Records (Chat, Message, ModelConfig, WorkspaceRecord, User, Token,
// Session) are stored as the JSON of these types; a field that is renamed here is renamed in every store.
package chat
