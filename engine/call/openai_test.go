package call

import (
	"context"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/chat"
	memory "holdfast/engine/ollama/scripted"
	"holdfast/engine/openai"
	"holdfast/engine/openai/scripted"
)

// TestClassifyOpenAI: what llama.cpp, vLLM, LM Studio and the services say, as the adapter hands it on.
func TestClassifyOpenAI(t *testing.T) {
	with := func(f *chat.Fault, err error) *chat.Fault { f.Err = err; return f }
	for _, c := range []row{
		{fault(400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens. (BadRequestError)"), chat.KindContextFull, false, 400},
		{fault(400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."), chat.KindContextFull, false, 400},
		{fault(400, "the request is too long (exceed_context_size_error)"), chat.KindContextFull, false, 400},
		{fault(200, "too long (context_length_exceeded)"), chat.KindContextFull, false, 0},
		{fault(400, "The number of tokens to keep from the initial prompt is greater than the context length."), chat.KindContextFull, false, 400},
		{fault(500, "tools param requires --jinja flag (server_error)"), chat.KindNoTools, false, 500},
		{fault(400, `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set (BadRequestError)`), chat.KindNoTools, false, 400},
		{fault(404, "The model `x` does not exist. (NotFoundError)"), chat.KindModelMissing, false, 404},
		{fault(404, "there is no /v1/chat/completions; look whether the base URL must end in /v1"), chat.KindModelMissing, false, 404},
		{fault(503, "Loading model (unavailable_error)"), chat.KindModelLoading, true, 503},
		{fault(429, "Rate limit reached (rate_limit_exceeded)"), chat.KindBusy, true, 429},
		{fault(401, "Invalid API Key (authentication_error)"), chat.KindAuth, false, 401},
		{fault(307, "the server points to another address (http://other/v1); enter that one as the base URL"), chat.KindConfig, false, 0},
		{with(fault(0, "the server ended the reply: abort"), io.ErrUnexpectedEOF), chat.KindStreamCut, true, 0},
	} {
		c.check(t)
	}
}

// TestOpenAIWire runs the error table over the OpenAI protocol: what a server does, and what a caller gets of it.
func TestOpenAIWire(t *testing.T) {
	good := scripted.Text("all is well")
	refuse := func(status int, text, word string) scripted.Reply {
		return scripted.Reply{Status: status, Body: `{"error":{"message":"` + text + `","type":"` + word + `"}}`}
	}
	lost := scripted.Words("some lost words")
	for name, c := range map[string]struct {
		replies []scripted.Reply
		// kind of the retry, then text, or the kind of the final error.
		retried chat.Kind
		final   chat.Kind
		// took is the least time: loading and Retry-After are waited for.
		took time.Duration
	}{
		"429 with Retry-After": {[]scripted.Reply{{Status: 429, Header: map[string]string{"Retry-After": "30"}, Body: `{"error":"slow down"}`}, good}, chat.KindBusy, "", 30 * time.Second},
		"500, an empty body":   {[]scripted.Reply{{Status: 500}, good}, chat.KindServer, "", time.Second},
		"cut":                  {[]scripted.Reply{{Frames: lost, End: scripted.EndCut}, good}, chat.KindStreamCut, "", time.Second},
		"no end":               {[]scripted.Reply{{Frames: lost, End: scripted.EndClean}, good}, chat.KindStreamCut, "", time.Second},
		"bad JSON":             {[]scripted.Reply{{Frames: []scripted.Frame{{Raw: "data: {\"choices\"\n\n"}}}, good}, chat.KindStreamCut, "", time.Second},
		"the engine gave up":   {[]scripted.Reply{{Frames: lost, Finish: "abort"}, good}, chat.KindStreamCut, "", time.Second},
		"an error in it":       {[]scripted.Reply{{Frames: append(lost, scripted.Frame{Raw: "data: {\"error\":{\"message\":\"boom\",\"code\":500}}\n\n"})}, good}, chat.KindServer, "", time.Second},
		"no headers":           {[]scripted.Reply{{Stall: true}, good}, chat.KindSlowStart, "", DefaultFirstPart},
		"silence":              {[]scripted.Reply{{Frames: lost, End: scripted.EndStall}, good}, chat.KindSilent, "", DefaultSilence},
		"loading":              {[]scripted.Reply{refuse(503, "Loading model", "unavailable_error"), refuse(503, "Loading model", "unavailable_error"), good}, "", "", time.Second},
		"no memory":            {[]scripted.Reply{refuse(500, "CUDA out of memory", "InternalServerError")}, chat.KindOutOfMemory, chat.KindOutOfMemory, time.Second},
		"too long":             {[]scripted.Reply{refuse(400, "the request exceeds the available context size", "exceed_context_size_error")}, "", chat.KindContextFull, 0},
		"too long, in it":      {[]scripted.Reply{{Frames: []scripted.Frame{{Raw: "data: {\"error\":{\"message\":\"This model's maximum context length is 9\",\"code\":400}}\n\n"}}}}, "", chat.KindContextFull, 0},
		"no tools":             {[]scripted.Reply{refuse(500, "tools param requires --jinja flag", "server_error")}, "", chat.KindNoTools, 0},
		"no such model":        {[]scripted.Reply{refuse(404, "The model does not exist.", "NotFoundError")}, "", chat.KindModelMissing, 0},
		"a wrong key":          {[]scripted.Reply{refuse(401, "Invalid API Key", "authentication_error")}, "", chat.KindAuth, 0},
		"a redirect":           {[]scripted.Reply{{Status: 308, Header: map[string]string{"Location": "http://other/v1"}}}, "", chat.KindConfig, 0},
		"refused":              {[]scripted.Reply{refuse(400, "unknown field", "BadRequestError")}, "", chat.KindConfig, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := scripted.New(scripted.Options{Answer: scripted.InTurn(c.replies...)})
				running := memory.Memory(server)
				defer func() {
					if err := running.Close(); err != nil {
						t.Error(err)
					}
				}()
				u, err := url.Parse(running.URL + "/v1")
				if err != nil {
					t.Fatal(err)
				}
				freed := false
				m := New(openai.New(openai.Options{URL: u, Client: running.Client}), Options{FreeMemory: func(context.Context, string) error { freed = true; return nil }})
				req := request()
				req.Provider, req.BaseURL, req.Model, req.MaxTokens = chat.ProviderOpenAI, u.String(), "m", 500
				var h heard
				began := time.Now()
				_, err = m.Stream(t.Context(), req, h.yield)
				if took := time.Since(began); took < c.took || took > 2*c.took+20*time.Second {
					t.Errorf("it took %v, want about %v", took, c.took)
				}
				if c.final != "" {
					if e := kindOf(t, err); e.Kind != c.final || strings.Contains(e.Error(), "sk-") {
						t.Errorf("%v", e)
					}
				} else if err != nil || h.text != "all is well" {
					t.Errorf("%q, %v", h.text, err)
				}
				if (len(h.retries) > 0) != (c.retried != "") || c.retried != "" && h.retries[0].Kind != c.retried {
					t.Errorf("retries %+v, want %s", h.retries, c.retried)
				}
				if freed {
					t.Error("models of another server were unloaded")
				}
			})
		})
	}
}
