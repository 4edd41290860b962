package api_test

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

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/kv"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// shown is what tests read of any answer.
type shown struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

func idOf(t *testing.T, body []byte) string {
	t.Helper()
	var s shown
	if err := json.Unmarshal(body, &s); err != nil || s.ID == "" {
		t.Fatalf("no id in %s: %v", body, err)
	}
	return s.ID
}

var callScripts = []scripted.Script{
	{User: "hello", Reply: scripted.Text("Hello to you, too.")},
	{User: "stall", Reply: scripted.Reply{Frames: scripted.Words("I begin"), End: scripted.EndStall}},
	{User: "touch", Reply: scripted.Calls(scripted.Call{Name: "execute", Args: json.RawMessage(`{"command":"touch made"}`)})},
	{User: "touch", Results: 1, Reply: scripted.Text("Touched.")},
	{User: "write", Reply: scripted.Calls(scripted.Call{Name: "write_file", Args: json.RawMessage(`{"path":"note.txt","content":"new"}`)})},
	{User: "write", Results: 1, Reply: scripted.Text("Written.")},
	{User: "ring", Reply: scripted.Calls(scripted.Call{ID: "one", Name: "ring", Args: json.RawMessage(`{"n":1}`)}, scripted.Call{ID: "two", Name: "ring", Args: json.RawMessage(`{"n":2}`)})},
	{User: "ring", Results: 2, Reply: scripted.Text("Rung.")},
	{Contains: "a title of 2 to 8 words", Behind: "a name, please", Reply: scripted.Text("A good name")},
	{Contains: "a title of 2 to 8 words", Behind: "hello", Reply: scripted.Text(`{"title":""}`)},
	{User: "fail", Reply: scripted.Reply{Status: http.StatusNotFound, Error: "model gone"}},
}

// Every operation with every described status, judged by the document; and what must and must not be in the answers.
func TestEveryRouteIsAsTheDocumentSays(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: callScripts, Server: scripted.Options{Pullable: []scripted.Pullable{
		{Model: scripted.Model{Name: "more:latest"}, Layers: []int64{1000}, Chunks: 4}}}})
	d := openDocument(t, a)
	take := func(s step) []byte { t.Helper(); return d.take(t, a, s) }
	take(step{name: "openapi", method: "GET", path: "/openapi.json", status: 200, has: []string{`"openapi":"3.1.0"`, `/chats/{id}/stream`}})
	take(step{name: "system", method: "GET", path: "/system", status: 200, has: []string{`"state":"ok"`, `"version":"test"`}})
	take(step{name: "health", method: "GET", path: "/system/health", status: 200, has: []string{`"state":"ok"`, `"damages":[]`, `"disk_free_bytes":`}})
	take(step{name: "doctor", method: "GET", path: "/system/doctor", status: 200, has: []string{`"name":"store"`, `"state":"ok"`}})
	take(step{name: "bundle", method: "GET", path: "/system/bundle", status: 200})
	take(step{name: "doctor odd", method: "GET", path: "/system/doctor?deep=much", status: 400, has: []string{`"field":"deep"`}})
	take(step{name: "users", method: "GET", path: "/users", status: 200, has: []string{`"owner"`}})
	checkAudit(take)
	checkWorkspaces(t, take)
	checkAgents(t, a, take)
	checkOutbound(take)
	checkNotifications(t, take)
	checkMCP(t, a, d, take)
	checkContext(t, a, take)
	checkServers(t, a, take)
	checkTokens(t, take)
	checkUsers(t, a, take)
	checkClientTools(t, a, take)
	checkModels(t, take)
	checkModelServer(t, d, a, take)
	checkChats(t, a, take)
	checkQueue(t, a, take)
	checkEdit(t, a, take)
	checkTranscripts(t, a, take)
	checkCards(t, a, take)
	checkStreamRoute(t, a, d)
	checkSite(t, a, take)
	checkRules(t, a, take)
	checkFiles(t, a, take)
	checkRuns(t, a, take)
	checkUsage(t, a, take)
	if left := d.uncalled(); len(left) > 0 {
		t.Errorf("no test saw: %s", strings.Join(left, ", "))
	}
}

func checkWorkspaces(t *testing.T, take func(step) []byte) {
	dir := t.TempDir()
	body := fmt.Sprintf(`{"kind":"local","directory":%q}`, dir)
	id := idOf(t, take(step{name: "add", method: "POST", path: "/workspaces", body: body, status: 201, has: []string{`"trusted":false`, `"kind":"local"`}}))
	take(step{name: "add again", method: "POST", path: "/workspaces", body: body, status: 200, has: []string{id}})
	take(step{name: "add nothing", method: "POST", path: "/workspaces", body: `{"directory":"/does/not/exist"}`, status: 400, has: []string{`"field":"directory"`}})
	take(step{name: "add a remote one", method: "POST", path: "/workspaces", body: `{"kind":"agent","directory":"/"}`, status: 400, has: []string{`"field":"kind"`}})
	take(step{name: "list", method: "GET", path: "/workspaces", status: 200, has: []string{id}})
	take(step{name: "get", method: "GET", path: "/workspaces/" + id, status: 200, has: []string{dir}})
	take(step{name: "get none", method: "GET", path: "/workspaces/x", status: 404, has: []string{`"kind":"not_found"`}})
	take(step{name: "trust", method: "PATCH", path: "/workspaces/" + id, body: `{"trusted":true,"name":"mine"}`, status: 200, has: []string{`"trusted":true`, `"mine"`}})
	take(step{name: "stop", method: "POST", path: "/workspaces/" + id + "/stop", status: 200, has: []string{`"state":"stopped"`}})
	take(step{name: "start", method: "POST", path: "/workspaces/" + id + "/start", status: 200, has: []string{`"state":"running"`}})
	take(step{name: "stop none", method: "POST", path: "/workspaces/x/stop", status: 404, has: []string{`"kind":"not_found"`}})
	checkTemplates(t, take, dir)
	take(step{name: "forget oddly", method: "DELETE", path: "/workspaces/" + id + "?files=all", status: 400, has: []string{`"field":"files"`}})
	take(step{name: "forget", method: "DELETE", path: "/workspaces/" + id, status: 204})
}

func checkOutbound(take func(step) []byte) {
	take(step{name: "called nobody", method: "GET", path: "/system/outbound", status: 200, has: []string{`"mode":"ask"`, `"called":false`, `"allowed":[]`}})
	take(step{name: "no mode", method: "PUT", path: "/system/outbound", body: `{"mode":"maybe"}`, status: 400, has: []string{`"field":"mode"`}})
	take(step{name: "offline", method: "PUT", path: "/system/outbound", body: `{"mode":"deny"}`, status: 204})
	take(step{name: "no host", method: "POST", path: "/system/outbound/allowed", body: `{"host":"http://x","port":1}`, status: 400, has: []string{`"field":"host"`}})
	take(step{name: "allow", method: "POST", path: "/system/outbound/allowed", body: `{"host":"NAS.home","port":8080,"local":true}`, status: 204})
	take(step{name: "allowed", method: "GET", path: "/system/outbound", status: 200, has: []string{`"mode":"deny"`, `"host":"nas.home","port":8080,"local":true,"by":`}})
	take(step{name: "forget a host", method: "DELETE", path: "/system/outbound/allowed/nas.home/8080", status: 204})
	take(step{name: "forget none", method: "DELETE", path: "/system/outbound/allowed/nas.home/8080", status: 404, has: []string{`"kind":"not_found"`}})
	take(step{name: "ask again", method: "PUT", path: "/system/outbound", body: `{"mode":"ask"}`, status: 204})
}

func checkAgents(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	take(step{name: "no agents", method: "GET", path: "/agents", status: 200, has: []string{`"agents":[]`, `"waiting":[]`, `"pin":"sha256:00"`}})
	take(step{name: "enrol nobody", method: "POST", path: "/agents/enrolments", body: `{}`, status: 400, has: []string{`"field":"name"`}})
	take(step{name: "enrol", method: "POST", path: "/agents/enrolments", body: `{"name":"far"}`, status: 201, has: []string{`"token":"hfe_`, `--enrol-file -`}})
	page := take(step{name: "one waits", method: "GET", path: "/agents", status: 200, has: []string{`"workspace":"far"`, `"expires_at":`}})
	var waits struct {
		Waiting []struct {
			WorkspaceID chat.WorkspaceID `json:"workspace_id"`
		} `json:"waiting"`
	}
	if err := json.Unmarshal(page, &waits); err != nil || len(waits.Waiting) != 1 {
		t.Fatalf("%s, %v", page, err)
	}
	const enrolled = "0190a000-0000-7000-8000-0000000000e1"
	if err := a.Store.Update(t.Context(), func(tx *kv.Tx) error {
		return tx.PutAgent(&chat.AgentRecord{ID: enrolled, WorkspaceID: waits.Waiting[0].WorkspaceID, Host: "box", CreatedAt: time.UnixMilli(1_700_000_000_123).UTC()})
	}); err != nil {
		t.Fatal(err)
	}
	take(step{name: "one is away", method: "GET", path: "/agents", status: 200, has: []string{enrolled, `"state":"offline"`, `"host":"box"`, `"workspace":"far"`, `"renewal_until":`}})
	take(step{name: "renew", method: "POST", path: "/agents/" + enrolled + "/renew", status: 201, has: []string{`"token":"hfe_`, string(waits.Waiting[0].WorkspaceID)}})
	take(step{name: "renew nobody", method: "POST", path: "/agents/0190a000-0000-7000-8000-00000000dead/renew", status: 404, has: []string{`"kind":"not_found"`}})
	take(step{name: "revoke", method: "DELETE", path: "/agents/" + enrolled, status: 204})
	take(step{name: "enrol for nothing", method: "POST", path: "/agents/enrolments", body: `{"workspace_id":"x"}`, status: 404, has: []string{`"kind":"not_found"`}})
	take(step{name: "revoke what is no id", method: "DELETE", path: "/agents/..%2fx", status: 404, has: []string{`"kind":"not_found"`}})
	take(step{name: "revoke nobody", method: "DELETE", path: "/agents/0190a000-0000-7000-8000-00000000dead", status: 404, has: []string{`"kind":"not_found"`}})
}

func checkTemplates(t *testing.T, take func(step) []byte, dir string) {
	body := fmt.Sprintf(`{"name":"tide","kind":"directory","source":%q,"allow_agents":true,"ttl_ms":60000}`, dir)
	id := idOf(t, take(step{name: "make a template", method: "POST", path: "/templates", body: body, status: 201, has: []string{`"autostop":true`, `"target":"appliance"`,
		`"policy":"ask"`, `"sandbox":"workspace"`, `"variables":{}`}}))
	take(step{name: "make it again", method: "POST", path: "/templates", body: body, status: 400, has: []string{`"field":"name"`}})
	take(step{name: "make a bad one", method: "POST", path: "/templates", body: `{"name":"","kind":"tar","source":"x","ttl_ms":-1}`, status: 400,
		has: []string{`"field":"name"`, `"field":"kind"`, `"field":"ttl_ms"`}})
	take(step{name: "list", method: "GET", path: "/templates", status: 200, has: []string{id}})
	take(step{name: "get", method: "GET", path: "/templates/" + id, status: 200, has: []string{dir, `"ttl_ms":60000`}})
	take(step{name: "change", method: "PATCH", path: "/templates/" + id, body: `{"autostop":false,"description":"of the bay"}`, status: 200,
		has: []string{`"autostop":false`, `"of the bay"`, `"ttl_ms":60000`}})
	take(step{name: "use", method: "POST", path: "/workspaces", body: fmt.Sprintf(`{"template_id":%q,"name":"bay"}`, id), status: 201, has: []string{`"name":"bay"`, id}})
	take(step{name: "use with a folder", method: "POST", path: "/workspaces", body: fmt.Sprintf(`{"template_id":%q,"directory":"/tmp"}`, id), status: 400,
		has: []string{`"field":"template_id"`}})
	take(step{name: "remove", method: "DELETE", path: "/templates/" + id, status: 204})
	take(step{name: "get none", method: "GET", path: "/templates/" + id, status: 404})
	const ttl = "/chats/config/workspace-ttl"
	take(step{name: "no ttl", method: "GET", path: ttl, status: 200, has: []string{`{"workspace_ttl_ms":0}`}})
	take(step{name: "a bad ttl", method: "PUT", path: ttl, body: `{"workspace_ttl_ms":-1}`, status: 400, has: []string{`"field":"workspace_ttl_ms"`}})
	take(step{name: "too long a ttl", method: "PUT", path: ttl, body: `{"workspace_ttl_ms":2592000001}`, status: 400, has: []string{`"field":"workspace_ttl_ms"`}})
	take(step{name: "a ttl", method: "PUT", path: ttl, body: `{"workspace_ttl_ms":3600000}`, status: 204})
	take(step{name: "the ttl", method: "GET", path: ttl, status: 200, has: []string{`{"workspace_ttl_ms":3600000}`}})
}

func checkTokens(t *testing.T, take func(step) []byte) {
	made := take(step{name: "make", method: "POST", path: "/tokens", body: `{"name":"ci","expires_at":"2999-01-02T03:04:05Z"}`, status: 201,
		has: []string{`"token":"hf_`, `"expires_at":"2999-01-02T03:04:05.000Z"`, `"user":"owner"`}})
	id := idOf(t, made)
	var s shown
	if err := json.Unmarshal(made, &s); err != nil {
		t.Fatal(err)
	}
	take(step{name: "list", method: "GET", path: "/tokens", status: 200, has: []string{id}, hasNot: []string{s.Token, "hf_"}})
	for _, body := range []string{`{}`, `{"name":""}`, `{"name":" \t "}`} {
		take(step{name: "no name", method: "POST", path: "/tokens", body: body, status: 400, has: []string{`"field":"name"`}})
	}
	take(step{name: "past", method: "POST", path: "/tokens", body: `{"name":"ci","expires_at":"2001-01-02T03:04:05Z"}`, status: 400, has: []string{`"field":"expires_at"`}})
	take(step{name: "revoke", method: "DELETE", path: "/tokens/" + id, status: 204})
	take(step{name: "revoke again", method: "DELETE", path: "/tokens/" + id, status: 404})
	take(step{name: "login", method: "POST", path: "/logins", body: `{"lifetime_seconds":30}`, status: 201, has: []string{`/login?code=`}})
	take(step{name: "long login", method: "POST", path: "/logins", body: `{"lifetime_seconds":601}`, status: 400, has: []string{`"field":"lifetime_seconds"`}})
}

func checkModels(t *testing.T, take func(step) []byte) {
	take(step{name: "list", method: "GET", path: "/models", status: 200, has: []string{`"model":"scripted:latest"`, `"is_default":true`, `"has_api_key":false`},
		hasNot: []string{"window_halved", `"api_key"`}})
	id := idOf(t, take(step{name: "make", method: "POST", path: "/models", status: 201, has: []string{`"model":"other:latest"`, `"context_limit":null`},
		body: `{"provider":"ollama","model":"other","name":"second","context_limit":null,"price_input":"3"}`}))
	take(step{name: "make nothing", method: "POST", path: "/models", body: `{}`, status: 400, has: []string{`"field":"provider"`, `"field":"model"`}})
	take(step{name: "get", method: "GET", path: "/models/" + id, status: 200, has: []string{`"price_input":"3"`}})
	take(step{name: "change", method: "PATCH", path: "/models/" + id, body: `{"price_input":null,"context_limit":4096}`, status: 200,
		has: []string{`"price_input":null`, `"context_limit":4096`, `"name":"second"`}})
	own := "/chats/config/user-compaction-thresholds/" + id
	take(step{name: "no threshold", method: "GET", path: own, status: 200, has: []string{`"threshold_percent":null`, `"effective_percent":70`}})
	take(step{name: "a threshold", method: "PUT", path: own, body: `{"threshold_percent":55}`, status: 200, has: []string{`"threshold_percent":55`, `"effective_percent":55`}})
	take(step{name: "a bad threshold", method: "PUT", path: own, body: `{"threshold_percent":101}`, status: 400, has: []string{`"field":"threshold_percent"`}})
	take(step{name: "the model's", method: "PUT", path: own, body: `{"threshold_percent":null}`, status: 200, has: []string{`"effective_percent":70`}})
	take(step{name: "of no model", method: "GET", path: "/chats/config/user-compaction-thresholds/x", status: 404, has: []string{`"kind":"not_found"`}})
	take(step{name: "delete", method: "DELETE", path: "/models/" + id, status: 204})
	take(step{name: "get deleted", method: "GET", path: "/models/" + id, status: 404})
	checkOtherModel(t, take)
}

// checkOtherModel: a key goes in and never comes out. Nothing listens at the address, which is no reason against it.
func checkOtherModel(t *testing.T, take func(step) []byte) {
	const key, other = "sk-canary-0123456789", `"provider":"openai_compatible","base_url":"http://127.0.0.1:1"`
	id := idOf(t, take(step{name: "make elsewhere", method: "POST", path: "/models", status: 201, hasNot: []string{key, `"api_key"`},
		body: `{` + other + `,"model":"m","api_key":"` + key + `"}`, has: []string{`"has_api_key":true`, `"base_url":"http://127.0.0.1:1/v1"`, `"model":"m"`}}))
	take(step{name: "get elsewhere", method: "GET", path: "/models/" + id, status: 200, has: []string{`"has_api_key":true`}, hasNot: []string{key}})
	take(step{name: "list elsewhere", method: "GET", path: "/models", status: 200, has: []string{`"has_api_key":true`}, hasNot: []string{key}})
	take(step{name: "keep the key", method: "PATCH", path: "/models/" + id, body: `{"name":"third"}`, status: 200, has: []string{`"has_api_key":true`}})
	take(step{name: "another server", method: "PATCH", path: "/models/" + id, body: `{"base_url":"http://127.0.0.1:2/v1"}`, status: 200,
		has: []string{`"has_api_key":false`}})
	take(step{name: "a new key", method: "PATCH", path: "/models/" + id, body: `{"api_key":"` + key + `"}`, status: 200, has: []string{`"has_api_key":true`},
		hasNot: []string{key}})
	take(step{name: "no key", method: "PATCH", path: "/models/" + id, body: `{"api_key":""}`, status: 200, has: []string{`"has_api_key":false`}})
	take(step{name: "a bad key", method: "PATCH", path: "/models/" + id, body: `{"api_key":"two words ` + key + `"}`, status: 400,
		has: []string{`"field":"api_key"`}, hasNot: []string{key}})
	take(step{name: "a bad address", method: "PATCH", path: "/models/" + id, body: `{"base_url":"ftp://` + key + `"}`, status: 400,
		has: []string{`"field":"base_url"`}, hasNot: []string{key}})
	take(step{name: "no address", method: "POST", path: "/models", body: `{"provider":"openai_compatible","model":"m"}`, status: 400,
		has: []string{`"field":"base_url"`}})
	take(step{name: "delete elsewhere", method: "DELETE", path: "/models/" + id, status: 204})
}

func checkModelServer(t *testing.T, d *document, a *apitest.Appliance, take func(step) []byte) {
	take(step{name: "status", method: "GET", path: "/model-server", status: 200, has: []string{`"reachable":true`, `"loaded":[`}})
	take(step{name: "installed", method: "GET", path: "/model-server/models", status: 200, has: []string{`"tools"`, `"trained_window":32768`}})
	take(step{name: "pull", method: "POST", path: "/model-server/pull", body: `{"name":"more"}`, status: 200,
		has: []string{`"status":"done"`, `"model_config":{`}})
	take(step{name: "pull what is not there", method: "POST", path: "/model-server/pull", body: `{"name":"nowhere"}`, status: 200,
		has: []string{`"status":"failed"`, `"kind":`}, hasNot: []string{`"status":"done"`}})
	take(step{name: "pull a bad name", method: "POST", path: "/model-server/pull", body: `{"name":"../x"}`, status: 400, has: []string{`"field":"name"`}})
	gguf := "GGUF" + strings.Repeat("weights ", 100_000)
	octets := map[string]string{"Content-Type": "application/octet-stream"}
	take(step{name: "import", method: "POST", path: "/model-server/import?name=mine", body: gguf, header: octets, status: 200, has: []string{`"status":"done"`}})
	take(step{name: "import by header", method: "POST", path: "/model-server/import", body: gguf, status: 200, has: []string{`"status":"done"`},
		header: map[string]string{"Content-Type": "application/octet-stream", "X-Model-Name": "own/mine:2"}})
	take(step{name: "import nothing", method: "POST", path: "/model-server/import?name=mine", header: octets, status: 400, has: []string{`"field":"size"`}})
	take(step{name: "delete", method: "DELETE", path: "/model-server/models/own/mine:2", status: 204})
	if all, err := a.Client.Models(t.Context()); err != nil || len(all) == 0 {
		t.Errorf("%d models, %v", len(all), err)
	} else {
		take(step{name: "probe", method: "POST", path: "/models/" + string(all[0].ID) + "/probe", status: 200,
			// What a reader sees of the way is what it was fast enough for.
			has: []string{`"status":"done"`, `"findings":[`, `"name":"window"`}})
	}
	take(step{name: "probe none", method: "POST", path: "/models/" + string(chat.ZeroModelConfig) + "/probe", status: 404, has: []string{`"kind":"not_found"`}})
	take(step{name: "delete none", method: "DELETE", path: "/model-server/models/nowhere", status: 404})
	c, err := a.Client.ImportModel(t.Context(), "typed", bytes.NewReader([]byte(gguf)), int64(len(gguf)), nil)
	if err != nil || c == nil {
		t.Errorf("the typed import: %+v, %v", c, err)
	}
}

func checkChats(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	id := idOf(t, take(step{name: "create", method: "POST", path: "/chats", status: 201,
		body:   `{"content":[{"type":"text","text":"hello"}],"labels":{"team":"blue"},"title":"Greeting <b>","reasoning_effort":"low"}`,
		has:    []string{`"status":"pending"`, `"phase":"queued"`, `"title":"Greeting <b>"`, `"children":[]`, `"last_error":null`, `"queue_held":false`},
		hasNot: []string{"diff_status"}}))
	at := "/chats/" + id
	for name, body := range map[string]string{"blank": `{"content":[{"type":"text","text":"  "}]}`, "none": `{}`, "a file": `{"content":[{"type":"file"}]}`,
		"labels": `{"content":[{"type":"text","text":"x"}],"labels":{` + manyLabels() + `}}`} {
		take(step{name: "create with " + name, method: "POST", path: "/chats", body: body, status: 400, has: []string{`"validations":[{"field":`}})
	}
	a.Rests(t, chat.ID(id))
	take(step{name: "get", method: "GET", path: at, status: 200, has: []string{`"status":"waiting"`, `"rest_reason":null`, `"owner_name":"owner"`, `"has_unread":`}})
	take(step{name: "get none", method: "GET", path: "/chats/x", status: 404})
	for _, q := range []string{"", "?q=greeting", "?q=label:team%3Dblue", "?q=status:waiting+greet", "?q=archived:false"} {
		take(step{name: "list " + q, method: "GET", path: "/chats" + q, status: 200, has: []string{id, `"has_more":false`}})
	}
	for _, q := range []string{"?q=absent", "?q=label:team%3Dred", "?q=status:running", "?q=archived:true", "?q=workspace:x"} {
		take(step{name: "list " + q, method: "GET", path: "/chats" + q, status: 200, has: []string{`"chats":[]`}})
	}
	for _, q := range []string{"?limit=0", "?limit=201", "?limit=x", "?after_id=x", "?q=x&after_id=x", "?q=status:odd", "?q=label:x", "?q=%zz"} {
		take(step{name: "list " + q, method: "GET", path: "/chats" + q, status: 400})
	}
	take(step{name: "messages", method: "GET", path: at + "/messages", status: 200, has: []string{`"queued_messages":[]`, `"total_cost_micros":null`}})
	take(step{name: "rename", method: "PATCH", path: at, body: `{"title":"New","pin_order":1}`, status: 204})
	take(step{name: "propose a title", method: "POST", path: at + "/title/propose", status: 502, has: []string{`no usable title`}})
	take(step{name: "rename badly", method: "PATCH", path: at, body: `{"title":" "}`, status: 400, has: []string{`"field":"title"`}})
	take(step{name: "bad effort", method: "PATCH", path: at, body: `{"reasoning_effort":"much"}`, status: 400, has: []string{`"field":"reasoning_effort"`}})
	take(step{name: "compact", method: "POST", path: at + "/compact", status: 202})
	a.Rests(t, chat.ID(id))
	take(step{name: "clear", method: "POST", path: at + "/clear", status: 202})
	take(step{name: "retry at rest", method: "POST", path: at + "/retry", status: 409, has: []string{`"kind":"wrong_state"`}})
	take(step{name: "delete too early", method: "DELETE", path: at, status: 409})
	take(step{name: "archive", method: "PATCH", path: at, body: `{"archived":true}`, status: 204})
	take(step{name: "send to the archived", method: "POST", path: at + "/messages", body: `{"content":[{"type":"text","text":"x"}]}`, status: 409,
		has: []string{`"kind":"archived"`}})
	take(step{name: "list archived", method: "GET", path: "/chats?q=archived:true", status: 200, has: []string{id}})
	take(step{name: "delete", method: "DELETE", path: at, status: 204})
	take(step{name: "get deleted", method: "GET", path: at, status: 404})
	named := create(t, a, "a name, please")
	a.Rests(t, named.ID)
	for _, how := range []string{"propose", "regenerate"} {
		take(step{name: how, method: "POST", path: "/chats/" + string(named.ID) + "/title/" + how, status: 200, has: []string{`{"title":"A good name"}`}})
	}
	take(step{name: "get named", method: "GET", path: "/chats/" + string(named.ID), status: 200, has: []string{`"title":"A good name"`}})
	failing := create(t, a, "fail")
	a.Rests(t, failing.ID)
	take(step{name: "get failed", method: "GET", path: "/chats/" + string(failing.ID), status: 200, has: []string{`"last_error":{"kind":"model_missing"`, `"status":"error"`}})
	take(step{name: "retry", method: "POST", path: "/chats/" + string(failing.ID) + "/retry", status: 200, has: []string{`"status":"pending"`, `"last_error":null`}})
	a.Rests(t, failing.ID)
}

func manyLabels() string {
	var all []string
	for i := range 51 {
		all = append(all, fmt.Sprintf(`"l%d":""`, i))
	}
	return strings.Join(all, ",")
}

func checkQueue(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	c := create(t, a, "stall")
	at := "/chats/" + string(c.ID)
	a.Until(t, c.ID, func(held *client.Transcript) bool { return len(held.Parts) > 0 })
	take(step{name: "list with a phase", method: "GET", path: "/chats?q=status:running", status: 200, has: []string{`"phase":"streaming"`}})
	take(step{name: "list all with a phase", method: "GET", path: "/chats", status: 200, has: []string{`"phase":"streaming"`}})
	take(step{name: "later", method: "POST", path: at + "/messages", body: `{"content":[{"type":"text","text":"x"}],"busy_behavior":"later"}`, status: 400,
		has: []string{`"field":"busy_behavior"`}})
	var queued [3]chat.MessageID
	for i := range queued {
		var sent client.Sent
		if err := json.Unmarshal(take(step{name: "queue", method: "POST", path: at + "/messages", body: `{"content":[{"type":"text","text":"hello"}]}`,
			status: 201, has: []string{`"queued":true`, `"queued_message":{`}}), &sent); err != nil {
			t.Fatal(err)
		}
		queued[i] = sent.QueuedMessage.ID
	}
	one := fmt.Sprint(at, "/queue/", queued[0])
	take(step{name: "edit queued", method: "PATCH", path: one, body: `{"content":[{"type":"text","text":"stall"}]}`, status: 204})
	take(step{name: "edit queued badly", method: "PATCH", path: one, body: `{"content":[]}`, status: 400})
	take(step{name: "move queued", method: "PATCH", path: fmt.Sprint(at, "/queue/", queued[2]), body: fmt.Sprintf(`{"before":%d}`, queued[0]), status: 204})
	take(step{name: "move before what was taken", method: "PATCH", path: one, body: `{"before":1}`, status: 404})
	page, err := a.Client.Messages(t.Context(), c.ID, client.MessageQuery{})
	if err != nil || len(page.Queued) != 3 || page.Queued[0].ID != queued[2] || page.Queued[1].Content[0].Text != "stall" {
		t.Errorf("after moving: %+v, %v", page.Queued, err)
	}
	take(step{name: "drop queued", method: "DELETE", path: fmt.Sprint(at, "/queue/", queued[1]), status: 204})
	take(step{name: "drop queued again", method: "DELETE", path: fmt.Sprint(at, "/queue/", queued[1]), status: 404})
	take(step{name: "drop nothing", method: "DELETE", path: at + "/queue/x", status: 404})
	take(step{name: "promote", method: "POST", path: one + "/promote", status: 204})
	held := a.Until(t, c.ID, func(held *client.Transcript) bool { return len(held.Messages) >= 3 && len(held.Parts) > 0 })
	want(t, apitest.Texts(held.Messages), "user: stall", "assistant: I begin (partial)", "user: stall")
	take(step{name: "interrupt", method: "POST", path: at + "/interrupt", status: 200})
	held = a.Rests(t, c.ID)
	want(t, apitest.Texts(held.Messages)[3:], "assistant: I begin (partial)", "user: hello", "assistant: Hello to you, too.")
}

func checkCards(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	dir := t.TempDir()
	w, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text string) (string, string) {
		c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text(text), WorkspaceID: w.ID})
		if err != nil {
			t.Fatal(err)
		}
		held := a.Until(t, c.ID, func(held *client.Transcript) bool {
			return held.Status.Status == chat.RequiresAction && len(held.Open) > 0
		})
		return "/chats/" + string(c.ID), held.Open[0].CallID
	}
	at, call := ask("touch")
	take(step{name: "a bad answer", method: "POST", path: at + "/approvals/" + call, body: `{"decision":"maybe"}`, status: 400, has: []string{`"field":"decision"`}})
	take(step{name: "no such card", method: "POST", path: at + "/approvals/nope", body: `{"decision":"deny"}`, status: 404})
	take(step{name: "deny", method: "POST", path: at + "/approvals/" + call, body: `{"decision":"deny","reason":"no"}`, status: 204})
	take(step{name: "deny twice", method: "POST", path: at + "/approvals/" + call, body: `{"decision":"deny"}`, status: 409, has: []string{`"kind":"wrong_state"`}})
	a.Rests(t, chat.ID(strings.TrimPrefix(at, "/chats/")))
	take(step{name: "allow after all", method: "POST", path: at + "/approvals/" + call, body: `{"decision":"allow_once"}`, status: 409,
		has: []string{"answered already"}})
	if _, err := os.Stat(filepath.Join(dir, "made")); !os.IsNotExist(err) {
		t.Errorf("a denied command ran: %v", err)
	}
	note := filepath.Join(dir, "note.txt")
	for _, changed := range []bool{false, true} {
		c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("write"), WorkspaceID: w.ID})
		if err != nil {
			t.Fatal(err)
		}
		held := a.Until(t, c.ID, func(held *client.Transcript) bool { return held.Status.Status.AtRest() || len(held.Open) > 0 })
		if len(held.Open) > 0 {
			take(step{name: "allow", method: "POST", path: "/chats/" + string(c.ID) + "/approvals/" + held.Open[0].CallID, body: `{"decision":"allow_once"}`, status: 204})
			held = a.Rests(t, c.ID)
		}
		restore := step{name: "restore", method: "POST", path: fmt.Sprintf("/chats/%s/checkpoints/%d/restore", c.ID, held.Messages[0].ID), status: 204}
		if changed {
			if err := os.WriteFile(note, []byte("somebody's"), 0o600); err != nil {
				t.Fatal(err)
			}
			restore.status, restore.has = 200, []string{`"skipped":["note.txt"]`, `"restored":[]`}
		}
		take(restore)
		take(step{name: "diff", method: "GET", path: "/chats/" + string(c.ID) + "/diff", status: 200, has: []string{`"changed_files":0`, `"diff":""`}})
		got, err := os.ReadFile(note)
		if changed && string(got) != "somebody's" || !changed && !os.IsNotExist(err) {
			t.Errorf("after restoring: %q, %v; messages %q", got, err, apitest.Texts(held.Messages))
		}
	}
}

// checkStreamRoute reads the first frame raw and judges it.
func checkStreamRoute(t *testing.T, a *apitest.Appliance, d *document) {
	c := create(t, a, "hello")
	a.Rests(t, c.ID)
	res, read := openStream(t, a, "/chats/"+string(c.ID)+"/stream")
	frame := read()
	if err := d.judge("GET", "/chats/"+string(c.ID)+"/stream", res, []byte(frame)); err != nil {
		t.Error(err)
	}
	watch, changes := openStream(t, a, "/chats/watch")
	if err := d.judge("GET", "/chats/watch", watch, []byte(changes())); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(frame, "id: ") || !strings.Contains(frame, `"events":[{"type":"status"`) || strings.Contains(frame, "event:") {
		t.Errorf("the first frame is %q", frame)
	}
}
