package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

// results are the answers to Calls that a model of the text protocols sees, in order.
func results(p *scripted.Prompt) (names []string) {
	for _, m := range p.Messages {
		if rest, ok := strings.CutPrefix(m.Content, "Result of "); ok && m.Role == "user" {
			name, _, _ := strings.Cut(rest, ":")
			names = append(names, name)
		}
	}
	return names
}

// threeTools makes a model that reads, changes and tests, and then says so; write puts each call into its reply.
func threeTools(write func(p *scripted.Prompt, name, args string) scripted.Reply) func(*scripted.Prompt) scripted.Reply {
	steps := [][2]string{{"read_file", `{"path": "greeting.txt"}`}, {"write_file", `{"path": "greeting.txt", "content": "hello world\n"}`}, {"execute", `{"command": "cat greeting.txt"}`}}
	return func(p *scripted.Prompt) scripted.Reply {
		n := len(results(p)) + len(p.Results())
		if n == len(steps) {
			return write(p, "", "The greeting is complete now.")
		}
		return write(p, steps[n][0], steps[n][1])
	}
}

// TestAModelThatWritesItsCallsAsFences finishes a task with three Tools, though the server knows of none of its calls.
func TestAModelThatWritesItsCallsAsFences(t *testing.T) {
	fences := threeTools(func(_ *scripted.Prompt, name, args string) scripted.Reply {
		if name == "" {
			return scripted.Text(args)
		}
		return scripted.Text("Working on it.\n```json\n{\"name\": \"" + name + "\", \"arguments\": " + args + "}\n```")
	})
	for name, capabilities := range map[string][]string{"offered natively": nil, "no tools in its template": {"completion"}} {
		t.Run(name, func(t *testing.T) {
			answer := fences
			if capabilities == nil {
				answer = func(p *scripted.Prompt) scripted.Reply { return fences(p) }
			}
			r := newRig(t, setup{place: true, model: scripted.Model{Capabilities: capabilities, Answer: answer}})
			r.write("greeting.txt", "hello\n")
			v := r.rest(r.create("complete the greeting"))
			if v.Chat.State != chat.Waiting || r.read("greeting.txt") != "hello world\n" {
				t.Errorf("it is %s with %q:\n%s", v.Chat.State, r.read("greeting.txt"), transcript(v.Messages))
			}
			repaired := 0
			for _, m := range v.Messages {
				for _, p := range m.Content {
					if p.Repaired {
						repaired++
					}
					if p.Type == chat.PartText && strings.Contains(p.Text, "```") {
						t.Errorf("the call is shown as text: %s", p.Text)
					}
				}
			}
			if repaired != 3 {
				t.Errorf("%d calls were read from text", repaired)
			}
		})
	}
}

// TestWhatTheServerSaysOfToolsIsKept: the first Turn finds out that the model has no tools, the next one begins as text.
func TestWhatTheServerSaysOfToolsIsKept(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Capabilities: []string{"completion"}, Answer: echo}})
	id := r.create("one")
	said(t, r.rest(id), "user: one", "assistant: re: one")
	r.update(func(tx *kv.Tx) error {
		c, _, err := tx.ModelConfig(r.config.ID)
		if c.FoundTools != chat.ToolsText {
			t.Errorf("what was found is %q", c.FoundTools)
		}
		return err
	})
	before := len(r.prompts())
	r.send(id, "two", "")
	r.rest(id)
	all := r.prompts()
	if len(all) != before+1 || len(all[before].Tools) != 0 || !strings.Contains(all[before].Messages[0].Content, "# Calling tools") {
		t.Errorf("the next turn made %d requests, the first with %d tools", len(all)-before, len(all[before].Tools))
	}
}

// TestEveryModelDrivesTheTools: one that cannot even write a readable call does so when a schema shapes its replies. The text is shown while
// it is written, and the next Turn begins so.
func TestEveryModelDrivesTheTools(t *testing.T) {
	broken := scripted.Text("Working on it.\n```json\n{\"name\": \"read_file\" \"arguments\": {{\"path\": greeting.txt}\n```")
	answer := threeTools(func(p *scripted.Prompt, name, args string) scripted.Reply {
		switch {
		case len(p.Format) == 0:
			return broken
		case name == "":
			return scripted.Text(`{"text": "` + args + `", "calls": []}`)
		}
		return scripted.Text(`{"text": "Working on \u0069t.", "calls": [{"name": "` + name + `", "arguments": ` + args + `}]}`)
	})
	r := newRig(t, setup{place: true, model: scripted.Model{Capabilities: []string{"completion"}, Answer: answer}})
	r.write("greeting.txt", "hello\n")
	id := r.create("complete the greeting")
	v := r.rest(id)
	if v.Chat.State != chat.Waiting || r.read("greeting.txt") != "hello world\n" {
		t.Fatalf("it is %s with %q:\n%s", v.Chat.State, r.read("greeting.txt"), transcript(v.Messages))
	}
	got := transcript(v.Messages)
	if strings.Count(got, "assistant: Working on it. ") != 3 || !strings.HasSuffix(got, "assistant: The greeting is complete now.\n") {
		t.Errorf("the chat says\n%s", got)
	}
	r.update(func(tx *kv.Tx) error {
		c, _, err := tx.ModelConfig(r.config.ID)
		if c.FoundTools != chat.ToolsJSON {
			t.Errorf("what was found is %q", c.FoundTools)
		}
		return err
	})
	var last scripted.Prompt
	for _, q := range r.requests() {
		last = q
	}
	if n := len(last.Messages); !strings.Contains(string(last.Format), `"enum":["read_file"]`) ||
		!strings.HasPrefix(last.Messages[n-2].Content, `{"text": "Working on it.", "calls": [{"name": "execute"`) {
		t.Errorf("the last request has the format %s and ends with %+v", last.Format, last.Messages[n-2:])
	}
}

// TestAWeakModelsFirstRequestIsSmall: system text, Tools and question of a model with a small window stay below 8 KB, in each protocol.
func TestAWeakModelsFirstRequestIsSmall(t *testing.T) {
	for _, protocol := range []string{chat.ToolsNative, chat.ToolsText, chat.ToolsJSON} {
		window := int64(4096)
		r := newRig(t, setup{place: true, model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply { return scripted.Text("done") }},
			config: func(c *chat.ModelConfig) { c.Tools, c.ContextLimit = protocol, &window }})
		r.rest(r.create("what is in this folder?"))
		q := r.server.Requests("/api/chat")[0]
		size := len(q.Body)
		if protocol == chat.ToolsJSON {
			var p scripted.Prompt
			mustDecode(t, q.Body, &p)
			// The schema is for the server's grammar; the model does not read it.
			size -= len(p.Format)
		}
		if size >= 8<<10 || !strings.Contains(string(q.Body), "edit_files") {
			t.Errorf("%s: the first request has %d bytes", protocol, size)
		}
	}
}

// TestAnnouncedAndNotDone: a reply that only says what comes next is answered once, for the model alone.
func TestAnnouncedAndNotDone(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(scripted.Text("I will now read the file."),
		scripted.Calls(toolCall("read_file", `{"path":"a.txt"}`)), scripted.Text("It says hello. I will now check the tests."))}})
	r.write("a.txt", "hello\n")
	id := r.create("read a.txt")
	v := r.rest(id)
	got := transcript(v.Messages)
	if strings.Count(got, "assistant:") != 3 || strings.Contains(got, "You said") || !strings.HasSuffix(got, "I will now check the tests.\n") {
		t.Errorf("the chat says\n%s", got)
	}
	if all := transcript(r.all(id)); strings.Count(all, "user (model): "+chat.TextAnnounced) != 1 {
		t.Errorf("in the store is\n%s", all)
	}
	second := r.prompts()[1]
	if n := len(second.Messages); second.Messages[n-1].Content != chat.TextAnnounced || second.Messages[n-2].Content != "I will now read the file." {
		t.Errorf("the second request ends with %+v", second.Messages[n-2:])
	}
}

// TestAQuestionIsNoAnnouncement: what waits for the person ends the Turn.
func TestAQuestionIsNoAnnouncement(t *testing.T) {
	for _, text := range []string{"If you agree, I will read the file.", "Shall I read the file?", "I read the file. It says hello."} {
		r := newRig(t, setup{model: scripted.Model{Answer: answers(scripted.Text(text))}})
		said(t, r.rest(r.create("go")), "user: go", "assistant: "+text)
		if n := len(r.prompts()); n != 1 {
			t.Errorf("%s: %d requests", text, n)
		}
	}
}

// TestUnknownToolsInText: a call of no Tool, written as text, is answered with those that there are. Covers case 34 for models without calls of their own.
func TestUnknownToolsInText(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(
		scripted.Text("```json\n{\"name\": \"read_fil\", \"arguments\": {\"path\": \"a.txt\"}}\n```"), scripted.Text("I see."))}})
	id := r.create("read a.txt")
	v := r.rest(id)
	if v.Chat.State != chat.Waiting || !strings.HasSuffix(transcript(v.Messages), "assistant: I see.\n") {
		t.Errorf("the chat says\n%s", transcript(v.Messages))
	}
	if all := transcript(r.all(id)); !strings.Contains(all, "Your last tool call could not be read. Call one of these tools with plain JSON arguments: execute,") {
		t.Errorf("in the store is\n%s", all)
	}
}

// TestARepeatedCallStopsByItself: five equal rounds end the Turn, and the fourth request says what is wrong. Covers case 58.
func TestARepeatedCallStopsByItself(t *testing.T) {
	r := newRig(t, setup{place: true, model: scripted.Model{Answer: answers(scripted.Calls(toolCall("read_file", `{"path":"a.txt"}`)))}})
	r.write("a.txt", "hello\n")
	id := r.create("go")
	v := r.rest(id)
	if v.Chat.State != chat.Failed || v.Chat.LastError == nil || v.Chat.LastError.Kind != chat.KindLoop {
		t.Fatalf("it is %s, %v", v.Chat.State, v.Chat.LastError)
	}
	all := r.prompts()
	if len(all) != 5 || all[3].Messages[len(all[3].Messages)-1].Content != chat.TextLoop(3) {
		t.Errorf("%d requests", len(all))
	}
}

// TestAWindowHoldsALongTask: thirty Steps in windows of any size, with as many compactions as it takes and never two without progress.
func TestAWindowHoldsALongTask(t *testing.T) {
	const steps = 30
	for _, window := range []int64{4096, 8192, 32768, 262144} {
		t.Run(fmt.Sprint(window), func(t *testing.T) {
			n, summaries, between, empty := 0, 0, 1, false
			content := strings.Repeat("number ", int(window/68))
			r := newRig(t, setup{place: true, config: func(c *chat.ModelConfig) { c.ContextLimit = &window },
				model: scripted.Model{Window: int(window), Answer: func(p *scripted.Prompt) scripted.Reply {
					if strings.HasPrefix(p.Messages[len(p.Messages)-1].Content, "The conversation is about to be shortened") {
						empty = empty || between == 0
						summaries, between = summaries+1, 0
						return scripted.Text(fmt.Sprintf("Goal: write the numbers. Done: %d. Next: %d.", n, n+1))
					}
					between++
					if n == steps {
						return scripted.Text("All numbers are written.")
					}
					n++
					return scripted.Calls(toolCall("write_file", fmt.Sprintf(`{"path":"n%d.txt","content":"%s"}`, n, content)))
				}}})
			v := r.rest(r.create("write the numbers from 1 to 30 into files of their own"))
			if v.Chat.State != chat.Waiting || v.Chat.RestReason != "" || n != steps {
				t.Fatalf("it is %s (%s) after %d steps and %d summaries: %v", v.Chat.State, v.Chat.RestReason, n, summaries, v.Chat.LastError)
			}
			if r.read("n30.txt") != content || summaries == 0 || empty {
				t.Errorf("%d summaries, two in a row: %v", summaries, empty)
			}
			for i, p := range r.prompts() {
				if p.Options.NumCtx != int(window) {
					t.Errorf("request %d asks for a window of %d", i, p.Options.NumCtx)
				}
			}
		})
	}
}

// TestNoTwoCompactionsWithoutAStep: a server that refuses the shortened prompt as well is not asked for a summary of the summary.
func TestNoTwoCompactionsWithoutAStep(t *testing.T) {
	var summaries atomic.Int32
	r := newRig(t, setup{config: window(8192), model: scripted.Model{Answer: func(p *scripted.Prompt) scripted.Reply {
		switch {
		case isSummary(p):
			summaries.Add(1)
			return scripted.Text("a summary")
		case strings.HasPrefix(p.User(), "never"):
			return scripted.Overflow()
		}
		return scripted.Text("re")
	}}})
	id := r.create(strings.Repeat("many words ", 1000))
	r.rest(id)
	r.send(id, "never", "")
	v := r.rest(id)
	if v.Chat.State != chat.Failed || v.Chat.LastError.Kind != chat.KindContextFull || summaries.Load() != 1 {
		t.Errorf("%s %v after %d summaries", v.Chat.State, v.Chat.LastError, summaries.Load())
	}
}

// filling says of each reply that its prompt filled the window.
type filling struct{ chat.Model }

func (f filling) Stream(ctx context.Context, req *chat.Request, yield func(chat.Delta) error) (chat.Reply, error) {
	reply, err := f.Model.Stream(ctx, req, yield)
	full := int64(req.Options.NumCtx)
	reply.Usage.InputTokens = &full
	return reply, err
}

// TestACutPromptIsBooked: a server that cut the prompt without a word worked for the reply that is dropped, so it counts as used.
func TestACutPromptIsBooked(t *testing.T) {
	r := newRig(t, setup{config: window(8192), wrap: func(m chat.Model) chat.Model { return call.New(filling{m}, call.Options{}) }})
	id := r.create("hello")
	v := r.rest(id)
	if v.Chat.State != chat.Failed || v.Chat.LastError.Kind != chat.KindContextFull {
		t.Fatalf("%s %v", v.Chat.State, v.Chat.LastError)
	}
	if kinds := r.usage(id); !slices.Contains(kinds, chat.UsageTurn) {
		t.Errorf("booked are %q", kinds)
	}
}
