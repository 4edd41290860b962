// Package ollama adapts a model server that speaks the Ollama API to the ports chat.Model and chat.ModelServer.
//
// Adapter is the one exported type of weight. It owns the slots in front of the server (per model, Turns before quick
// calls), the encoding of requests, and the reading of the streamed reply. It keeps no goroutine of its own: whatever a
// call starts has ended when the call returns.
//
// Caveats. The server says success (status 200) for many failures: a stream counts as whole only when a frame with
// "done" has come, and a prompt that is too long is refused only because every request says truncate and shift false.
// Headers come when the model is loaded and the prompt is read, so there is no timeout for a whole call here; engine/call
// guards it by the phases. Bytes of a request depend on nothing but the request: the messages stand last, so that a
// longer history begins with the bytes of the shorter one.
package ollama
