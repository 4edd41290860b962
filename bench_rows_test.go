//go:build bench && linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
)

const smallModel = "small:latest"

// paragraph is a kilobyte of Markdown with a little code in it, as replies are.
const paragraph = "The **committer** takes what waits and makes one transaction of it, so that `n` writers share one sync of the disk. Three things " +
	"follow:\n\n1. A lone writer pays for a whole commit.\n2. A thousand writers pay for a share.\n3. A function that fails is taken back by " +
	"itself, and its neighbours do not notice.\n\n```go\nfunc (c *committer) take() []*call {\n\tfor range 3 {\n\t\truntime.Gosched()\n\t}\n" +
	"\treturn c.drain()\n}\n```\n\nSee [the documentation](/docs/store) for the order of writes, and mind that *nothing* is acknowledged " +
	"before it is on the disk. A reader always sees one consistent state: the version that was newest when it began to read. What comes " +
	"later wakes it again, and the next frame brings the difference, never a gap and never anything twice.\n"

// seed fills a store in process: a Chat of so many Messages, and so many further Chats.
func seed(t testing.TB, data string, messages, chats int) (id chat.ID) {
	t.Helper()
	store, err := kv.Open(t.Context(), data, kv.Options{})
	must(t, err)
	defer func() { must(t, store.Close()) }()
	var owner chat.UserID
	must(t, store.View(t.Context(), func(tx *kv.Tx) error {
		all, err := tx.Users()
		if err == nil {
			owner = all[0].ID
		}
		return err
	}))
	made := func(title string) *chat.Chat {
		now := time.Now().UTC()
		id := chat.ID(uuid.Must(uuid.NewV7()).String())
		return &chat.Chat{ID: id, RootID: id, OwnerID: owner, Title: title, State: chat.Completed, Version: 1, CreatedAt: now, UpdatedAt: now}
	}
	for done := 0; done < chats; done += 1000 {
		must(t, store.Update(t.Context(), func(tx *kv.Tx) error {
			for i := range min(1000, chats-done) {
				if err := tx.PutChat(made(fmt.Sprint("Chat number ", done+i))); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	long := made("The long one")
	must(t, store.Update(t.Context(), func(tx *kv.Tx) error {
		for i := range messages {
			m := chat.Message{CreatedAt: time.Now().UTC(), Role: chat.RoleUser, ContentVersion: 1, CreatedBy: owner,
				Content: []chat.Part{{Type: chat.PartText, Text: fmt.Sprint("Question ", i, ": what does the committer do?")}}}
			if i%2 == 1 {
				m.Role, m.CreatedBy, m.FinishReason = chat.RoleAssistant, "", "stop"
				m.Content[0].Text = fmt.Sprintf("Answer %d. %s", i, paragraph)
			}
			enc, err := kv.EncodeMessage(&m)
			if err != nil {
				return err
			}
			if _, err := tx.AppendMessage(long, enc); err != nil {
				return err
			}
		}
		return tx.PutChat(long)
	}))
	return long.ID
}

// timed gets a page so often over one connection; the first answer stands apart.
func (p *product) timed(path string, runs int, accept func(page []byte) error) (cold, warm time.Duration) {
	p.t.Helper()
	w, err := p.line()
	must(p.t, err)
	defer w.close()
	var all []time.Duration
	for i := range runs + 1 {
		began := time.Now()
		res, err := w.open(http.MethodGet, path, nil)
		must(p.t, err)
		var body bytes.Buffer
		_, err = body.ReadFrom(res.Body)
		must(p.t, err)
		took := time.Since(began)
		if res.StatusCode != http.StatusOK {
			p.t.Fatalf("%s: %s: %.300s", path, res.Status, body.Bytes())
		}
		if err := accept(body.Bytes()); err != nil {
			p.t.Fatalf("%s: %v", path, err)
		}
		if i == 0 {
			cold = took
			continue
		}
		all = append(all, took)
	}
	return cold, median(all)
}

func benchPages(r *row) {
	e := newEndpoint(r)
	runs := 20
	type point struct {
		n          int
		cold, warm time.Duration
	}
	var documents, lists []point
	for _, scale := range []int{1, 10, 100} {
		data := r.TempDir()
		r.startOn(data, e).stop()
		messages, chats := 20*scale, 100*scale
		id := seed(r, data, messages, chats)
		p := r.startOn(data, e)
		last := fmt.Sprintf("Answer %d.", messages-1)
		cold, warm := p.timed("/chats/"+string(id), runs, func(page []byte) error {
			if !bytes.Contains(page, []byte(last)) {
				return fmt.Errorf("the page of %d bytes does not hold %q", len(page), last)
			}
			return nil
		})
		documents = append(documents, point{messages, cold, warm})
		cold, warm = p.timed("/api/v1/chats?limit=50", runs, func(page []byte) error {
			if n := bytes.Count(page, []byte(`"title":"`)); n != 50 {
				return fmt.Errorf("%d chats on the first page", n)
			}
			return nil
		})
		lists = append(lists, point{chats, cold, warm})
		p.stop()
	}
	curve := func(all []point) string {
		var s []string
		for _, p := range all {
			s = append(s, fmt.Sprintf("%d: %.1f ms", p.n, ms(p.warm)))
		}
		return strings.Join(s, ", ")
	}
	document, list := documents[2], lists[2]
	r.say("document cold %.0f ms, warm %.1f ms (by Messages %s)", ms(document.cold), ms(document.warm), curve(documents))
	r.say("list cold %.1f ms, warm %.1f ms (by Chats %s)", ms(list.cold), ms(list.warm), curve(lists))
	r.goal(document.warm <= 50*time.Millisecond && document.cold <= 200*time.Millisecond && list.warm <= 10*time.Millisecond)
	// At worst linear: an item at 100 times costs at most 1.3 of one at 10 times.
	r.goal(document.warm <= 13*documents[1].warm && list.warm <= 13*lists[1].warm)
	r.figure("document_warm", ms(document.warm), "ms")
	r.figure("document_cold", ms(document.cold), "ms")
	r.figure("list_warm", ms(list.warm), "ms")
}

// worker is an appliance with a trusted workspace and a model that follows a script.
func (r *row) worker(model scripted.Model) (e *endpoint, p *product, workspace, config string) {
	r.Helper()
	e = newEndpoint(r)
	e.rest = scripted.New(scripted.Options{Models: []scripted.Model{model}, Record: true})
	e.shape.Store(&shape{scripted: true})
	p = r.start(e)
	var models struct {
		Models []struct {
			ID    string `json:"id"`
			Model string `json:"model"`
		} `json:"models"`
	}
	p.call(http.MethodGet, "/api/v1/models", nil, &models)
	for _, m := range models.Models {
		if m.Model == model.Name {
			config = m.ID
		}
	}
	if config == "" {
		r.Fatalf("there is no config of %s", model.Name)
	}
	var ws struct {
		ID string `json:"id"`
	}
	folder := r.TempDir()
	must(r, os.WriteFile(filepath.Join(folder, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600))
	p.call(http.MethodPost, "/api/v1/workspaces", map[string]any{"kind": "local", "directory": folder, "trusted": true}, &ws)
	return e, p, ws.ID, config
}

// task starts a Chat in a workspace and waits until its Turn is over; it gives all Messages.
func (p *product) task(workspace, config, text string) []message {
	p.t.Helper()
	in := titled(text)
	in["workspace_id"], in["model_config_id"] = workspace, config
	var c struct {
		ID string `json:"id"`
	}
	p.call(http.MethodPost, "/api/v1/chats", in, &c)
	s, err := p.stream(c.ID)
	must(p.t, err)
	defer s.close()
	for {
		data, err := s.frame()
		must(p.t, err)
		var f frame
		must(p.t, json.Unmarshal(data, &f))
		for _, ev := range f.Events {
			switch {
			case ev.Type != "status":
			case ev.Status == string(chat.Failed):
				p.t.Fatalf("the Turn failed: %s", data)
			case chat.State(ev.Status).AtRest():
				var page struct {
					Messages []message `json:"messages"`
				}
				p.call(http.MethodGet, "/api/v1/chats/"+c.ID+"/messages?after_id=0&limit=200", nil, &page)
				return page.Messages
			}
		}
	}
}

func tool(name string, args map[string]any) scripted.Reply {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err) // plain maps always encode
	}
	return scripted.Calls(scripted.Call{Name: name, Args: raw})
}

func benchOutput(r *row) {
	const command = `echo HEAD-MARK; yes 'a line of output that nobody will ever read as a whole' | head -c 1000000000; echo; echo TAIL-MARK`
	_, p, ws, config := r.worker(scripted.Model{Name: benchModel, Answer: func(in *scripted.Prompt) scripted.Reply {
		if len(in.Results()) > 0 {
			return scripted.Text("Done.")
		}
		return tool("execute", map[string]any{"command": command, "timeout": "2m"})
	}})
	before := p.memory()
	must(r, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid()), []byte("5"), 0o600))
	began := time.Now()
	all := p.task(ws, config, "print a gigabyte")
	took, after := time.Since(began), p.memory()
	var result string
	for _, m := range all {
		for _, part := range m.Content {
			if part.Type == "tool-result" {
				result = string(part.Result)
			}
		}
	}
	right := strings.Contains(result, "HEAD-MARK") && strings.Contains(result, "TAIL-MARK")
	r.say("growth %.1f MB, %.1f s, head and tail right: %v", after.peak-before.rss, took.Seconds(), right)
	r.gate(right, "head or tail are missing in a result of %d bytes: %.300s", len(result), result)
	r.goal(after.peak-before.rss <= 64)
	r.figure("output_growth", after.peak-before.rss, "MB")
}

func benchRequest(r *row) {
	e, p, ws, config := r.worker(scripted.Model{Name: smallModel, Window: 8192})
	p.task(ws, config, "add a --version flag and run the tests")
	first := e.rest.Requests("/api/chat")[0]
	var body struct {
		Tools   []json.RawMessage `json:"tools"`
		Options struct {
			NumCtx int `json:"num_ctx"`
		} `json:"options"`
	}
	must(r, json.Unmarshal(first.Body, &body))
	if len(body.Tools) == 0 || body.Options.NumCtx != 8192 {
		r.Fatalf("%d tools, window %d", len(body.Tools), body.Options.NumCtx)
	}
	r.say("%d bytes with %d tools", len(first.Body), len(body.Tools))
	r.goal(len(first.Body) <= 8000)
	r.figure("first_request", float64(len(first.Body)), "bytes")
}

func benchPrefix(r *row) {
	const steps = 20
	e, p, ws, config := r.worker(scripted.Model{Name: benchModel, Answer: func(in *scripted.Prompt) scripted.Reply {
		switch n := len(in.Results()); {
		case n >= steps:
			return scripted.Text("Done.")
		case n%3 == 0:
			return tool("list_files", map[string]any{"path": ".", "depth": 1 + n%2})
		case n%3 == 1:
			return tool("write_file", map[string]any{"path": fmt.Sprintf("file%d.txt", n), "content": strings.Repeat("some text\n", 40)})
		default:
			return tool("execute", map[string]any{"command": fmt.Sprint("echo step ", n)})
		}
	}})
	p.task(ws, config, "work in many steps")
	var before []byte
	sum, worst, pairs := 0.0, 1.0, 0
	for _, req := range e.rest.Requests("/api/chat") {
		var body struct {
			Tools    json.RawMessage `json:"tools"`
			Messages json.RawMessage `json:"messages"`
		}
		must(r, json.Unmarshal(req.Body, &body))
		// What the model reads: tools, then messages without the end of their list.
		now := append(bytes.Clone(body.Tools), bytes.TrimSuffix(body.Messages, []byte("]"))...)
		if before != nil {
			share := float64(common(before, now)) / float64(len(before))
			sum, worst, pairs = sum+share, min(worst, share), pairs+1
		}
		before = now
	}
	if pairs < steps {
		r.Fatalf("only %d pairs of Steps", pairs)
	}
	r.say("%.1f %% on average, %.1f %% at worst, of the bytes of the prompt before, over %d pairs of Steps", 100*sum/float64(pairs), 100*worst, pairs)
	r.goal(worst >= 0.95)
	r.figure("prefix_lost", 100*(1-worst), "%")
}

// common is the length of what both begin with.
func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
