package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// TestContextOfAWorkspace: with --workspace the commands ask the appliance, by id or name.
func TestContextOfAWorkspace(t *testing.T) {
	bare(t)
	t.Setenv("HOLDFAST_AGENT_URL", "unix:///nobody.sock")
	a := start(t, apitest.Options{})
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "AGENTS.md", "# Title\nPAYLOAD")
	w, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Name: "shop", Directory: dir})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := a.Client.CreateWorkspace(t.Context(), client.WorkspaceCreate{Name: "twin", Directory: t.TempDir()}); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	missing := t.TempDir()
	for _, c := range []struct {
		args      []string
		code      int
		out, says string
	}{
		{[]string{"refresh", "--workspace", "shop"}, 0, "ok  instruction_file  15  " + dir + "/AGENTS.md  \n", ""},
		{[]string{"list", "--workspace", "shop"}, 0, "", ""},
		{[]string{"add", "x", "--workspace", string(w.ID)}, 0, dir + "/x\n", ""},
		{[]string{"list", "--workspace", "shop", "--json"}, 0, `[{"path":"` + dir + `/x"}]` + "\n", ""},
		{[]string{"remove", "--workspace", "shop", "x"}, 0, "", ""},
		{[]string{"remove", "x", "--workspace", "shop"}, 3, "", "context remove x"},
		{[]string{"add", "/usr", "y", "--workspace", "shop"}, 1, dir + "/y\n", "does not lie"},
		{[]string{"list", "--workspace", "nobody"}, 3, "", "no workspace nobody"},
		{[]string{"list", "--workspace", "twin"}, 2, "", "give the id"},
		{[]string{"list", "--workspace", "shop", "--agent", "unix:///x"}, 2, "", "two different places"},
		{[]string{"add", "--workspace", "shop"}, 2, "", "one or more paths"},
	} {
		code, out, failure := run(t.Context(), "", "context", append(c.args, "--data", a.Dir)...)
		if code != c.code || out != c.out || !strings.Contains(failure, c.says) || strings.Contains(strings.TrimSpace(failure), "\n") {
			t.Errorf("%v: exit %d, %q, %q; want %d %q %q", c.args, code, out, failure, c.code, c.out, c.says)
		}
	}
	if code, out, failure := run(t.Context(), "", "context", "show", "AGENTS.md", "--workspace", "shop", "--data", a.Dir); code != 0 || !strings.Contains(out, "description  Title\n") || strings.Contains(out, "PAYLOAD") {
		t.Errorf("show one: exit %d, %q, %q", code, out, failure)
	}
	var s struct {
		Ready     bool
		Resources []struct{ Status string }
	}
	if code, out, _ := run(t.Context(), "", "context", "show", "--json", "--workspace", "shop", "--data", a.Dir); code != 0 || json.Unmarshal([]byte(out), &s) != nil || !s.Ready || len(s.Resources) != 1 {
		t.Errorf("show --json: exit %d, %q", code, out)
	}
	if code, _, failure := run(t.Context(), "", "context", "list", "--workspace", "shop", "--data", missing); code != 4 || !strings.Contains(failure, "no appliance") {
		t.Errorf("no appliance: exit %d, %q", code, failure)
	}
}
