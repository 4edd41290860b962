//go:build browser

package main

import (
	"testing"
	"time"

	"holdfast/engine/ollama/scripted"
)

// TestBrowserModelTest: a person tests a model, cancels, tests again, sees what it can do after a reload, and sets its options; what is
// refused stands beside its field.
func TestBrowserModelTest(t *testing.T) {
	t.Parallel()
	handler := scripted.New(scripted.Options{Models: []scripted.Model{{Name: "here:latest", Size: 1 << 30, Pace: 150 * time.Millisecond, Reads: 900,
		Capabilities: []string{"completion"}, Answer: func(*scripted.Prompt) scripted.Reply {
			return scripted.Text("one two three four five six seven eight nine ten")
		}}}})
	running, err := scripted.Listen("127.0.0.1:0", handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	a := serveNow(t, launch{ollama: running.URL})
	p := browse(t, a)
	p.open(a.url + "/models")
	p.click("#models-configs summary")
	p.shows("#models-configs", "Not tested yet.")
	p.press("#models-configs", "Test this model")
	p.shows("#models-configs", "Testing: ")
	p.press("#models-configs", "Cancel")
	p.shows("#models-configs", "Cancelled.")
	p.press("#models-configs", "Test again")
	p.shows("#models-configs", "Testing: ")
	p.until(`document.querySelectorAll('#models-configs .finds li').length===9`)
	p.shows("#models-configs .facts", "Reads")
	p.shows("#models-configs", "It makes no tool calls of its own, so it writes them as text")
	p.open(a.url + "/models")
	p.click("#models-configs summary")
	p.shows("#models-configs .finds", "keeps to a JSON schema")

	p.eval(`document.querySelectorAll('#models-configs details.fold').forEach(d=>{d.open=true})`)
	p.fill("#models-configs input[name=temperature]", "hot")
	p.fill("#models-configs input[name=num_predict]", "900")
	p.press("#models-configs", "Save")
	p.shows("#models-configs .field.is-bad", "Write a number such as 0.7, or nothing.")
	p.until(`document.querySelector('#models-configs input[name=num_predict]').value==='900'`)
	p.fill("#models-configs input[name=temperature]", "11")
	p.press("#models-configs", "Save")
	p.shows("#models-configs .field.is-bad", "A number from 0 to 10.")
	p.fill("#models-configs input[name=temperature]", "0.3")
	p.press("#models-configs", "Save")
	p.until(`document.querySelectorAll('#models-configs .field.is-bad').length===0`)
	p.fill("#models-configs input[name=threshold_percent]", "120")
	p.press("#models-configs", "Keep")
	p.shows("#models-configs .field.is-bad", "100 is never.")
	p.fill("#models-configs input[name=threshold_percent]", "55")
	p.press("#models-configs", "Keep")
	p.shows("#models-configs", "Kept. It counts from the next turn.")
	var list struct {
		Models []struct {
			ID      string         `json:"id"`
			Options map[string]any `json:"options"`
		} `json:"models"`
	}
	a.must("GET", "/api/v1/models", nil, &list)
	if o := list.Models[0].Options; o["temperature"] != 0.3 || o["num_predict"] != 900.0 {
		t.Errorf("kept are %v", o)
	}
	var own struct {
		Percent int `json:"effective_percent"`
	}
	a.must("GET", "/api/v1/chats/config/user-compaction-thresholds/"+list.Models[0].ID, nil, &own)
	if own.Percent != 55 {
		t.Errorf("the threshold is %d", own.Percent)
	}
}
