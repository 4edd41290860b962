package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

// files are the MCP servers of a Workspace, in memory.
type files struct {
	list  []chat.Server
	mu    sync.Mutex
	calls []string
}

func (f *files) List(context.Context) ([]chat.Server, error) { return f.list, nil }

func (f *files) Approve(context.Context, chat.ServerApproval) error { return nil }

func (f *files) Call(_ context.Context, server, tool string, args json.RawMessage) (chat.ServerAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, server+" "+tool+" "+string(args))
	switch tool {
	case "gone":
		return chat.ServerAnswer{}, &chat.Error{Kind: chat.KindServer, Message: "The MCP server files did not answer.", Detail: "there was no answer within 1m0s"}
	case "fails":
		return chat.ServerAnswer{Text: "no such row", IsError: true}, nil
	}
	return chat.ServerAnswer{Text: "42 rows", Left: 1}, nil
}

func (f *files) made() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func tool(name, says string) chat.ResourceTool {
	return chat.ResourceTool{Name: name, Description: says, InputSchema: []byte(`{"type":"object","properties":{"table":{"type":"string"}},"required":["table"]}`)}
}

func twoServers() *files {
	return &files{list: []chat.Server{
		{Name: "files", Status: chat.ResourceOK, Approved: true, Tools: []chat.ResourceTool{tool("rows of", "Count rows."), tool("gone", "Never answers."), tool("fails", "Fails.")}},
		{Name: "broken", Status: chat.ResourceUnreadable, Error: "the program has ended", Approved: true},
		{Name: "fresh", Status: chat.ResourceExcluded, Error: "needs approval"},
	}}
}

// TestToolsOfAWorkspacesServers: they are named after their server, a person is asked before each call of an untrusted folder, what fails is a
// Result, and a server that failed is warned of while one that waits for approval is not.
func TestToolsOfAWorkspacesServers(t *testing.T) {
	servers := twoServers()
	r := newRig(t, setup{place: true, untrusted: true, servers: servers, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("files__rows_of", `{"table":"t"}`)),
		scripted.Calls(toolCall("files__gone", `{"table":"t"}`)),
		scripted.Calls(toolCall("files__fails", `{"table":"t"}`)),
		scripted.Calls(toolCall("fresh__x", `{}`)),
		scripted.Text("done"))}})
	id := r.create("count the rows")
	answered := ""
	for i := range 3 {
		open := func(v engine.View) bool {
			return len(v.Chat.Outstanding) == 1 && v.Chat.Outstanding[0].Decision == "" && v.Chat.Outstanding[0].Call.ID != answered
		}
		v := r.until(id, "a card", open)
		if n := len(servers.made()); n != i {
			t.Errorf("%d calls before answer %d", n, i)
		}
		answered = v.Chat.Outstanding[0].Call.ID
		if _, err := r.engine.Answer(t.Context(), r.who, engine.AnswerInput{ChatID: id, CallID: answered, Decision: "allow_once"}); err != nil {
			t.Fatal(err)
		}
	}
	v := r.rest(id)
	if got := strings.Join(servers.made(), "; "); got != `files rows of {"table":"t"}; files gone {"table":"t"}; files fails {"table":"t"}` {
		t.Errorf("called were %s", got)
	}
	say := transcript(v.Messages)
	for _, want := range []string{"42 rows", "[left out of the answer: 1 images, sounds or files]", "did not answer. there was no answer within 1m0s", `{"error":"no such row"}`, "fresh__x"} {
		if !strings.Contains(say, want) {
			t.Errorf("%q is not in\n%s", want, say)
		}
	}
	if got := v.Chat.Turn.Warnings; len(got) != 1 || got[0] != "MCP server broken: the program has ended. This turn goes on without it." {
		t.Errorf("warned of %q", got)
	}
	if got := offeredIn(r.prompts()[0]); !slices.Contains(got, "files__rows_of") || slices.ContainsFunc(got, func(n string) bool { return strings.HasPrefix(n, "fresh") || strings.HasPrefix(n, "broken") }) {
		t.Errorf("offered are %v", got)
	}
}

// TestAServersNamesGiveWay: a Tool of ours wins over one of a server that has its name; long names stay apart.
func TestAServersNamesGiveWay(t *testing.T) {
	long := strings.Repeat("n", 80)
	servers := &files{list: []chat.Server{{Name: "s", Status: chat.ResourceOK, Approved: true, Tools: []chat.ResourceTool{tool("x", "one"), tool("x!", "two"), tool("x?", "the same"),
		tool(long+"a", "a"), tool(long+"b", "b")}}}}
	r := newRig(t, setup{place: true, servers: servers, tools: []chat.Tool{instant("s__x", "ours")}, model: scripted.Model{Answer: answers(
		scripted.Calls(toolCall("s__x", `{}`)), scripted.Text("done"))}})
	v := r.rest(r.create("go"))
	names := offeredIn(r.prompts()[0])
	var long64 []string
	for _, n := range names {
		if strings.HasPrefix(n, "s__nnn") {
			long64 = append(long64, n)
		}
	}
	if len(long64) != 2 || len(long64[0]) != 64 || long64[0] == long64[1] || !slices.Contains(names, "s__x_") || len(servers.made()) != 0 || len(v.Chat.Turn.Warnings) != 2 {
		t.Errorf("%v, called %v, warned %q", names, servers.made(), v.Chat.Turn.Warnings)
	}
}

// TestASmallModelWithManyServers: its first request has at most 8,000 bytes, with a hundred tools behind find_tools; it finds and calls one. With
// none of them it is no larger.
func TestASmallModelWithManyServers(t *testing.T) {
	shelf := &files{}
	for i := range 10 {
		s := chat.Server{Name: fmt.Sprintf("server-%d", i), Status: chat.ResourceOK, Approved: true}
		for j := range 10 {
			s.Tools = append(s.Tools, tool(fmt.Sprintf("count_%dx%d", i, j), strings.Repeat(fmt.Sprintf("Count table %d of shelf %d. ", j, i), 8)))
		}
		shelf.list = append(shelf.list, s)
	}
	for _, window := range []int64{8192, 16383} {
		r := newRig(t, setup{place: true, servers: shelf, config: windowed(window), model: scripted.Model{Answer: answers(
			scripted.Calls(toolCall("find_tools", `{"query":"table 7x4","limit":1}`)),
			scripted.Calls(toolCall("server-7__count_7x4", `{"table":"t"}`)),
			scripted.Text("42"))}})
		id := r.create("count")
		asked := r.until(id, "a card", func(v engine.View) bool { return len(v.Chat.Outstanding) == 1 })
		if _, err := r.engine.Answer(t.Context(), r.who, engine.AnswerInput{ChatID: id, CallID: asked.Chat.Outstanding[0].Call.ID, Decision: "allow_once"}); err != nil {
			t.Fatal(err)
		}
		v := r.rest(id)
		first := r.server.Requests("/api/chat")[0]
		names := offeredIn(r.prompts()[0])
		if len(first.Body) > 8000 || servers(names) != 0 || !slices.Contains(names, "find_tools") {
			t.Errorf("window %d: the first request has %d bytes and offers %v", window, len(first.Body), names)
		}
		if got := shelf.made(); len(got) == 0 || got[len(got)-1] != `server-7 count_7x4 {"table":"t"}` || !slices.Contains(offeredIn(r.prompts()[1]), "server-7__count_7x4") {
			t.Errorf("window %d: called were %v\n%s", window, got, transcript(v.Messages))
		}
	}
}
