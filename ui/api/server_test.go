package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// checkServers sees the MCP servers of a Workspace: all of an entry but values, an approval that must name what was listed, and nothing of it
// for others.
func checkServers(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	id, _ := placed(t, a, ".mcp.json", `{"mcpServers":{"far":{"url":"https://example.test/mcp","headers":{"Authorization":"Bearer hunter2-sk"}},"a__b":{"command":"x"}}}`)
	one := "/workspaces/" + string(id)
	take(step{name: "look", method: "POST", path: one + "/context/resync", status: 200, hasNot: []string{"hunter2"}})
	got := take(step{name: "servers", method: "GET", path: one + "/mcp/servers", status: 200,
		has: []string{`"name":"far"`, `"status":"excluded"`, "needs approval", `"headers":["Authorization"]`, `"url":"https://example.test/mcp"`, "the name must be"}, hasNot: []string{"hunter2"}})
	var list []client.WorkspaceServer
	if err := json.Unmarshal(got, &list); err != nil || len(list) != 2 || list[1].Name != "far" || len(list[1].Seal) != 64 || list[0].Seal != "" {
		t.Fatalf("%s, %v", got, err)
	}
	approve := func(name, body string, status int) {
		take(step{name: name, method: "POST", path: one + "/mcp/approvals", body: body, status: status})
	}
	approve("another seal", `{"name":"far","seal":"`+strings.Repeat("0", 64)+`"}`, 409)
	approve("no seal", `{"name":"far","seal":"x"}`, 400)
	approve("nobody", `{"name":"x","seal":"`+list[1].Seal+`"}`, 404)
	approve("a tool that is none", `{"name":"far","tool":"x","seal":"`+list[1].Seal+`"}`, 404)
	approve("approve", `{"name":"far","seal":"`+list[1].Seal+`"}`, 204)
	all, err := a.Client.WorkspaceServers(t.Context(), id)
	if err != nil || !all[1].Approved || all[1].Status != chat.ResourceUnreadable {
		t.Errorf("%+v, %v", all, err)
	}
	take(step{name: "refuse another seal", method: "POST", path: one + "/mcp/refusals", body: `{"name":"far","seal":"` + strings.Repeat("0", 64) + `"}`, status: 409})
	take(step{name: "refuse no seal", method: "POST", path: one + "/mcp/refusals", body: `{"name":"far","seal":"x"}`, status: 400})
	take(step{name: "refuse", method: "POST", path: one + "/mcp/refusals", body: `{"name":"far","seal":"` + list[1].Seal + `"}`, status: 204})
	all, err = a.Client.WorkspaceServers(t.Context(), id)
	if err != nil || all[1].Approved || !all[1].Refused || all[1].Status != chat.ResourceExcluded {
		t.Errorf("%+v, %v", all, err)
	}
	take(step{name: "servers of none", method: "GET", path: "/workspaces/x/mcp/servers", status: 404})
}
