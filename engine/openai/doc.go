// Package openai adapts servers that speak the OpenAI protocol (llama.cpp server, vLLM, LM Studio) to the ports chat.Model and
// chat.ModelServer.
//
// Adapter makes the calls to one base address and owns the slots in front of it; Server is its management side, seen with one key. The
// adapter keeps no goroutine of its own: whatever a call starts has ended when the call returns.
//
// Caveats. Servers differ in nearly everything that is not in the first example of the protocol's manual: a reply counts as whole when a
// finish_reason or [DONE] came, calls are put together by index, id or order, and the window is found where each server tells it. What
// models can do is not told at all: each is taken for one that calls tools, and the server says otherwise when one is asked to. The key
// goes into one header and nowhere else: redirects are not followed, and it is taken out of what a server says about it.
package openai
