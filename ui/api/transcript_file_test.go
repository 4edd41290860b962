package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// lastPrompt gives the messages of the newest request whose newest user text is or begins with text, without the system text.
func lastPrompt(t *testing.T, a *apitest.Appliance, text string) []string {
	t.Helper()
	all := a.Scripted.Requests("/api/chat")
	for i := len(all) - 1; i >= 0; i-- {
		var p scripted.Prompt
		if err := json.Unmarshal(all[i].Body, &p); err != nil {
			t.Fatal(err)
		}
		if strings.TrimSpace(p.User()) != text && !strings.HasPrefix(p.User(), text+"\n") {
			continue
		}
		var out []string
		for _, m := range p.Messages {
			if m.Role != "system" {
				out = append(out, m.Role+": "+m.Content)
			}
		}
		return out
	}
	t.Fatal("no request of a turn")
	return nil
}

// imported imports what was exported and exports it again: both must be the same.
func imported(t *testing.T, a *apitest.Appliance, id chat.ID) chat.ID {
	t.Helper()
	first, file := exported(t, a, id)
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Client.Import(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := exported(t, a, c.ID); again != first {
		t.Errorf("the second file differs:\n%s\n---\n%s", first, again)
	}
	return c.ID
}

// TestAnImportGoesOnFromTheSummary: the model of an imported Chat is told what that of the first one is told, and what was before is not.
func TestAnImportGoesOnFromTheSummary(t *testing.T) {
	scripts := append([]scripted.Script{{Contains: "is about to be shortened", Reply: scripted.Text("They greeted each other.")},
		{User: "fail", Times: 1, Reply: scripted.Reply{Status: http.StatusNotFound, Error: "model gone"}}, {User: "on", Results: scripted.Any, Reply: scripted.Text("On it goes.")}}, callScripts...)
	a := apitest.Start(t, apitest.Options{Scripts: scripts, Server: scripted.Options{Record: true}})
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	send(t, a, c.ID, "fail", "")
	a.Rests(t, c.ID)
	if err := a.Client.Compact(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	a.Until(t, c.ID, func(held *client.Transcript) bool {
		return held.Status.Status.AtRest() && held.Messages[len(held.Messages)-1].Role == chat.RoleTool
	})
	id := imported(t, a, c.ID)
	again := imported(t, a, id)
	var prompts [][]string
	for _, id := range []chat.ID{c.ID, id, again} {
		send(t, a, id, "on", "")
		if got := apitest.Texts(a.Rests(t, id).Messages); got[len(got)-1] != "assistant: On it goes." {
			t.Errorf("%q", got)
		}
		prompts = append(prompts, lastPrompt(t, a, "on"))
	}
	got := prompts[1]
	if len(got) != 3 || !strings.HasPrefix(got[0], "user: The earlier part of this conversation was summarised") ||
		!strings.HasSuffix(got[0], "They greeted each other.") || got[1] != "user: fail" || got[2] != "user: on" {
		t.Errorf("the request does not begin at the summary: %q", got)
	}
	for _, p := range prompts {
		want(t, p, prompts[0]...)
	}
}

// TestFilesGoWithTheirChat: the bytes come back, for who imports, and the model reads them.
func TestFilesGoWithTheirChat(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts, Server: scripted.Options{Record: true}})
	var content []client.Input
	for name, body := range map[string]string{"note.txt": "the bytes of the note", "same.txt": "the bytes of the note", "p.png": "\x89PNG\r\n\x1a\n\x00\x00"} {
		f, err := a.Client.Upload(t.Context(), name, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, client.FileInput(f))
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Title: "files", Content: append(client.Text("hello"), content...)})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	_, file := exported(t, a, c.ID)
	if len(file.Files) != 2 {
		t.Fatalf("%d files", len(file.Files))
	}
	id := imported(t, a, c.ID)
	// Of the first Chat nothing is left: the copy has bytes of its own.
	_, token := a.AddUser(t, "other", chat.UserMember)
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := a.As(t, token).Import(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []struct {
		api *client.Client
		id  chat.ID
	}{{a.Client, id}, {a.As(t, token), theirs.ID}} {
		page, err := who.api.Messages(t.Context(), who.id, client.MessageQuery{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, m := range page.Messages {
			for _, p := range m.Content {
				if p.Type != chat.PartFile {
					continue
				}
				n++
				data, err := who.api.Download(t.Context(), chat.FileID(p.FileID))
				sum := sha256.Sum256(data)
				if err != nil || base64.StdEncoding.EncodeToString(data) != bytesNamed(file, hex.EncodeToString(sum[:])) {
					t.Errorf("%s came back as %q, %v", p.Name, data, err)
				}
			}
		}
		if n != 3 {
			t.Errorf("%d files came back", n)
		}
	}
	send(t, a, id, "hello", "")
	a.Rests(t, id)
	if got := strings.Join(lastPrompt(t, a, "hello"), "\n"); strings.Count(got, "the bytes of the note") != 2 {
		t.Errorf("the model is told %q", got)
	}
	res := get(t, a, a.Token, "/chats/"+string(c.ID)+"/export?format=json&files=false")
	var bare client.TranscriptFile
	if err := json.NewDecoder(res.Body).Decode(&bare); err != nil || len(bare.Files) != 0 || bare.Messages[0].Content[1].FileID != "" {
		t.Errorf("%+v %v", bare.Files, err)
	}
}

func bytesNamed(f client.TranscriptFile, sum string) string {
	for _, b := range f.Files {
		if b.SHA256 == sum {
			return b.Data
		}
	}
	return "none"
}

// TestAnExportOfTooManyBytesIsRefused: with a sentence that says the bound and the way round.
func TestAnExportOfTooManyBytesIsRefused(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts})
	content := client.Text("hello")
	for n := range 5 {
		body := make([]byte, chat.MaxFileBytes)
		body[0] = byte(n)
		f, err := a.Client.Upload(t.Context(), "zeros", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, client.FileInput(f))
	}
	c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Title: "files", Content: content})
	if err != nil {
		t.Fatal(err)
	}
	a.Rests(t, c.ID)
	_, err = a.Client.Export(t.Context(), c.ID, client.ExportJSON)
	var refused *chat.Error
	if !errors.As(err, &refused) || refused.Kind != chat.KindTooLarge || !strings.Contains(refused.Message, "40 MiB") || !strings.Contains(refused.Detail, "files=false") {
		t.Errorf("%v", err)
	}
	if res := get(t, a, a.Token, "/chats/"+string(c.ID)+"/export?format=json&files=false"); res.StatusCode != http.StatusOK {
		t.Errorf("without files: %d", res.StatusCode)
	}
}

// TestHostileFilesOfATranscript: each refusal names the field, and nothing is stored.
func TestHostileFilesOfATranscript(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	d := openDocument(t, a)
	const when = `"created_at":"2026-01-02T03:04:05Z"`
	sum := func(text string) string { s := sha256.Sum256([]byte(text)); return hex.EncodeToString(s[:]) }
	data := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	file := func(text string) string { return fmt.Sprintf(`{"sha256":%q,"data":%q}`, sum(text), data(text)) }
	part := func(id string) string { return fmt.Sprintf(`{"type":"file","file_id":%q,"name":"a.txt"}`, id) }
	body := func(content, files string) string {
		return `{"format":"holdfast-chat","version":1,"title":"t","messages":[{"role":"user",` + when + `,"content":[` + content + `]}],"files":[` + files + `]}`
	}
	card := func(result, more string) string {
		return `{"format":"holdfast-chat","version":1,"title":"t","messages":[{"role":"user",` + when + `,"content":[{"type":"text","text":"x"}]},{"role":"assistant",` + when +
			`,"content":[{"type":"tool-call","tool_call_id":"c","tool_name":"chat_summarized"}]},{"role":"tool",` + when + more +
			`,"content":[{"type":"tool-result","tool_call_id":"c","tool_name":"chat_summarized","result":` + result + `}]}]}`
	}
	theirs, err := a.Client.Upload(t.Context(), "theirs.txt", strings.NewReader("theirs"))
	if err != nil {
		t.Fatal(err)
	}
	_, token := a.AddUser(t, "mallory", chat.UserMember)
	names := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"type":"file","file_id":%q,"name":"a%d.txt"}`, sum("x"), i))
		}
		return strings.Join(all, ",")
	}
	large := strings.Repeat("x", chat.MaxFileBytes+1)
	tests := map[string]struct{ body, field string }{
		"another hash":            {body(part(sum("x")), fmt.Sprintf(`{"sha256":%q,"data":%q}`, sum("x"), data("y"))), "files[0].sha256"},
		"a hash in capitals":      {body(part(strings.ToUpper(sum("x"))), fmt.Sprintf(`{"sha256":%q,"data":%q}`, strings.ToUpper(sum("x")), data("x"))), "files[0].sha256"},
		"a path as a hash":        {body(part("../../holdfast.db"), fmt.Sprintf(`{"sha256":"../../holdfast.db","data":%q}`, data("x"))), "files[0].sha256"},
		"no base64":               {body(part(sum("x")), fmt.Sprintf(`{"sha256":%q,"data":"\u0000"}`, sum("x"))), "files[0].data"},
		"a file twice":            {body(part(sum("x")), file("x")+","+file("x")), "files[1].sha256"},
		"a file for nothing":      {body(part(sum("x")), file("x")+","+file("y")), "files[1]"},
		"many files":              {body(part(sum("x")), strings.Repeat(file("x")+",", chat.MaxChatFiles)+file("y")), "files"},
		"many names":              {body(names(chat.MaxChatFiles+1), file("x")), "messages[0].content[50].file_id"},
		"a large file":            {body(part(sum(large)), file(large)), "files[0].data"},
		"a file that is not here": {body(part(sum("x")), ""), "messages[0].content[0].file_id"},
		"a file of another":       {body(part(string(theirs.ID)), ""), "messages[0].content[0].file_id"},
		"the hash of another's":   {body(part(theirs.SHA256), ""), "messages[0].content[0].file_id"},
		"a summary of nothing":    {card(`[]`, ""), "messages[2].content[0].result"},
		"a huge summary":          {card(`{"summary":"`+strings.Repeat("x", 1<<20+1)+`"}`, ""), "messages[2].content[0].result"},
		"unanswered later":        {card(`{"summary":"x"}`, `,"unanswered":[2]`), "messages[2].unanswered[0]"},
		"unanswered before all":   {card(`{"summary":"x"}`, `,"unanswered":[-1]`), "messages[2].unanswered[0]"},
		"unanswered by a model":   {card(`{"summary":"x"}`, `,"unanswered":[1]`), "messages[2].unanswered[0]"},
		"unanswered twice":        {card(`{"summary":"x"}`, `,"unanswered":[0,0]`), "messages[2].unanswered[1]"},
		"unanswered, no summary":  {card(`{"error":"x"}`, `,"unanswered":[0]`), "messages[2].unanswered"},
		"a summary of a command":  {strings.Replace(card(`{"summary":"x"}`, ""), "chat_summarized", "execute", 1), "messages[2].content[0].tool_call_id"},
	}
	as := map[string]string{"Authorization": "Bearer " + token}
	for name, c := range tests {
		d.take(t, a, step{name: name, method: "POST", path: "/chats/import", header: as, body: c.body, status: 400, has: []string{`"field":"` + c.field + `"`}})
	}
	page, err := a.As(t, token).Chats(t.Context(), client.ChatQuery{})
	if err != nil || len(page.Chats) != 0 {
		t.Errorf("%+v %v", page, err)
	}
	d.take(t, a, step{name: "what holds", method: "POST", path: "/chats/import", header: as, body: body(part(sum("\x00x")), file("\x00x")), status: 201})
	d.take(t, a, step{name: "a summary", method: "POST", path: "/chats/import", header: as, body: card(`{"summary":"a\u0000b"}`, `,"unanswered":[0]`), status: 201})
}
