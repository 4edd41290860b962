package openai

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// FuzzRead feeds any bytes as the answer of a server: no panic, no half Call, valid text, and always an end that is one of two.
func FuzzRead(f *testing.F) {
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n"))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"a\",\"arguments\":\"{\"}}]}}]}\n"))
	f.Add([]byte("error: {\"message\":\"x\"}\n"))
	f.Add([]byte("{\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":\"stop\"}]}"))
	f.Add([]byte("<html>\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := &call{asker: asker{a: &Adapter{address: "x"}}, req: &chat.Request{}}
		c.yield = func(d chat.Delta) error {
			if !utf8.ValidString(d.Text) || !utf8.ValidString(d.Reasoning) || d.Call != nil && (d.Call.ID == "" || d.Call.Args != nil && !isObject(d.Call.Args)) {
				t.Fatalf("%+v", d)
			}
			return nil
		}
		if err := c.read(t.Context(), func() {}, bytes.NewReader(raw)); err != nil {
			fault(t, err)
		} else if c.reply.FinishReason == "" {
			t.Fatal("a whole reply without a reason")
		}
	})
}

// FuzzCalls: pieces of one call give the same arguments wherever they are cut.
func FuzzCalls(f *testing.F) {
	f.Add(`{"path":"ä\n"}`, uint8(3))
	f.Fuzz(func(t *testing.T, args string, at uint8) {
		if !utf8.ValidString(args) {
			return
		}
		cut := int(at) % (len(args) + 1)
		for cut > 0 && !utf8.ValidString(args[:cut]) {
			cut--
		}
		var whole, pieces calls
		piece := func(into *calls, name, args string) {
			raw, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			zero := 0
			d := callDelta{Index: &zero, ID: "a"}
			d.Function.Name, d.Function.Arguments = name, raw
			if err := into.add(d); err != nil {
				t.Fatal(err)
			}
		}
		piece(&whole, "n", args)
		piece(&pieces, "n", args[:cut])
		piece(&pieces, "", args[cut:])
		a, b := whole.made(map[string]bool{}), pieces.made(map[string]bool{})
		if len(a) != 1 || len(b) != 1 || !bytes.Equal(a[0].Args, b[0].Args) {
			t.Errorf("%+v, in pieces %+v", a, b)
		}
	})
}
