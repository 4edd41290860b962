// Package gguf makes a model file whose replies are scripts, and runs the real model server with it: for end-to-end tests alone.
//
// File writes the GGUF of some Scripts; Template is the chat template that goes with it; Start runs a server binary as a
// Server with a home of its own, into which Install puts the file under a name.
//
// How it works. The model is a table "token, next token": one block of the llama architecture with weights of zero passes the
// embedding through, every token's embedding marks its state, and the output weights name the successor of each state, so that
// sampling options do not matter. The template prints the whole prompt (about three bytes per token) and ends with one control token
// made of the newest user text and a "+" per tool result since, "-" for a result that is an error; that token begins the
// script. A text without a script leads to Fallback.
//
// Caveats. A reply depends on nothing but that last token. The server's tool parser sees the replies, so calls in them are
// found, swallowed or left in the text as with any model. KillRunner reads /proc.
package gguf
