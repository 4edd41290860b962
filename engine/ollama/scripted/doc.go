// Package scripted is a model server that speaks the Ollama protocol from scripts: deterministic, without a model, and able to
// misbehave on demand. It serves tests, measurements, and the demo model of the appliance.
//
// Server is the http.Handler; Model is one model of it with its Scripts; Script matches a Prompt and gives a Reply made
// of Frames. Listen runs a handler on TCP, Memory on an in-memory listener whose Client works under testing/synctest. Demo is
// a model that answers with whole Turns on the real tools it is offered, and says that it is scripted.
//
// Caveats. Tokens are counted as bytes / 3 for prompts and one per piece for replies. Nothing is kept on disk. A Server
// records requests only when told to, since it keeps them for ever.
package scripted
