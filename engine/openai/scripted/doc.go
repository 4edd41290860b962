// Package scripted is a server that speaks the OpenAI protocol from scripts, and that can misbehave as real ones do.
//
// Server is the http.Handler; its zero Options answer everything with a short text. Request is what it understood of a call, Reply what
// it answers, Frame one event of that. It is as strict as the servers it stands for: a wrong key, an unknown model and a Result without
// its Call are refused. Serve it with what serves any handler.
package scripted
