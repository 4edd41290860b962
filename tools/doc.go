// Package tools is the tool wall: Set, the explicit ordered list of what a model may call, made once by main from the rooms
// below (tools/fs, tools/shell) and handed to the engine.
//
// A Set is checked when it is made: a duplicate name, or a definition that a model server would not take, is an error at start.
// Which of its Tools a Chat gets is decided by the engine once per Turn; Defs only chooses the wording and the core Tools for the
// model's window. Tools act through the ports of engine/chat and keep no state of a Chat, so one Set serves all Chats.
package tools
