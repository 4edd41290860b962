package chat

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestCase16GoldenVectors: whoever changes a hash makes every Chat of every Workspace out of date.
func TestCase16GoldenVectors(t *testing.T) {
	hello := []byte("hello\n")
	file := Resource{Kind: ResourceInstructionFile, Source: "/w/AGENTS.md", Status: ResourceOK, SizeBytes: 6, ContentHash: FileHash(hello), Payload: hello}
	brew := Resource{Kind: ResourceSkill, Source: "/w/.agents/skills/brew", Status: ResourceInvalid, Error: "no name"}
	config := Resource{Kind: ResourceMCPConfig, Source: "/w/.mcp.json", Status: ResourceOK, ContentHash: FileHash([]byte("{}"))}
	server := Resource{Kind: ResourceMCPServer, Source: "files", Status: ResourceOK}
	read := ResourceTool{Name: "read", Description: "Read a file", InputSchema: []byte(`{ "type":"object", "properties":{} }`)}
	for _, c := range []struct {
		name string
		got  Hash
		want string
	}{
		{"nothing", AggregateHash(nil), "17ea48f6477484ec5b30534cccbbd2c2b0477a9e03af1bf8a3b4907b1c762a20"},
		{"one file", AggregateHash([]Resource{file}), "4534c7c198acc52b591a4342de666f53bbbb09a594e12c06b1d1dd83e5201dbe"},
		{"and a skill", AggregateHash([]Resource{file, brew}), "a73f9595a6261b6be469b54bc9dcec7d99e4ebdcf93ac22bedf15c4be00392e1"},
		{"in another order", AggregateHash([]Resource{brew, file}), "a73f9595a6261b6be469b54bc9dcec7d99e4ebdcf93ac22bedf15c4be00392e1"},
		{"servers do not count", AggregateHash([]Resource{config, file, server, brew}), "a73f9595a6261b6be469b54bc9dcec7d99e4ebdcf93ac22bedf15c4be00392e1"},
		{"oversize", must[Hash](t)(OversizeHash(65537, strings.NewReader(strings.Repeat("a", 65537)))), "a15cfc2c3d1e94602d8da1413f3bfe22e6601b26dfcd898044e8d41cab296247"},
		{"server", must[Hash](t)(ServerHash("files", []ResourceTool{read})), "3959ae3d5dacb975dba683a5220ef2e19ccc955495505579c99d899fbd4eb85c"},
		{"failed server", FailedServerHash("files", "no such command"), "8219068df637761c05b28e25fe1cf878b4d248155caaa9b2431b4fc4bf0c8b43"},
	} {
		if c.got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
	list := []Resource{file, brew}
	AggregateHash(list)
	FullHash(list, "", false)
	if list[0].ID() != file.ID() {
		t.Error("hashing sorted the caller's list")
	}
	tools := []ResourceTool{read, {Name: "a", InputSchema: []byte(`{}`)}}
	first := must[Hash](t)(ServerHash("files", tools))
	if tools[0].Name != "read" {
		t.Error("hashing sorted the caller's tools")
	}
	slices.Reverse(tools)
	if must[Hash](t)(ServerHash("files", tools)) != first {
		t.Error("the order of tools is in the hash")
	}
}

func TestFullHashCoversWhatAReaderSees(t *testing.T) {
	base := Resource{Kind: ResourceSkill, Source: "/w/skills/brew", SourcePath: "/w", Status: ResourceOK, Name: "brew", Description: "coffee", SizeBytes: 3}
	seen := map[Hash]string{FullHash([]Resource{base}, "", false): "nothing"}
	for name, change := range map[string]func(*Resource){
		"kind": func(r *Resource) { r.Kind = ResourcePlugin }, "source": func(r *Resource) { r.Source += "x" }, "source path": func(r *Resource) { r.SourcePath = "" },
		"status": func(r *Resource) { r.Status = ResourceInvalid }, "error": func(r *Resource) { r.Error = "e" }, "name": func(r *Resource) { r.Name = "" },
		"description": func(r *Resource) { r.Description = "tea" }, "size": func(r *Resource) { r.SizeBytes++ }, "hash": func(r *Resource) { r.ContentHash[31] = 1 },
		"where a field ends": func(r *Resource) { r.Name, r.Description = "brewc", "offee" },
	} {
		changed := base
		change(&changed)
		h := FullHash([]Resource{changed}, "", false)
		if other, ok := seen[h]; ok {
			t.Errorf("a change of %s has the hash of a change of %s", name, other)
		}
		seen[h] = name
	}
	for name, h := range map[string]Hash{"problem": FullHash([]Resource{base}, "p", false), "settled": FullHash([]Resource{base}, "", true), "number": FullHash(nil, "", false)} {
		if other, ok := seen[h]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[h] = name
	}
}

func TestCase17OversizeHashSeesTheHeadOnly(t *testing.T) {
	body := bytes.Repeat([]byte("a"), oversizeHead+10)
	sum := func() Hash { return must[Hash](t)(OversizeHash(int64(len(body)), bytes.NewReader(body))) }
	before := sum()
	body[oversizeHead] = 'b'
	if sum() != before {
		t.Error("a byte behind the head is in the hash")
	}
	body[oversizeHead-1] = 'b'
	if sum() == before {
		t.Error("the last byte of the head is not in the hash")
	}
}

func TestCanonicalJSON(t *testing.T) {
	for in, want := range map[string]string{
		` { "b" : [1, 2.50, 1e9] , "a" : "<&>" } `: `{"a":"<&>","b":[1,2.50,1e9]}`,
		`12345678901234567890`:                     `12345678901234567890`, `{"properties":{},"type":"object"}`: `{"properties":{},"type":"object"}`, `null`: `null`,
	} {
		if got, err := CanonicalJSON([]byte(in)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "{", "{} {}", "{} x", "nul"} {
		if got, err := CanonicalJSON([]byte(in)); err == nil {
			t.Errorf("%q is taken: %s", in, got)
		}
	}
	size, err := ToolsSize([]ResourceTool{{Name: "a", Description: "bc", InputSchema: []byte(` {} `)}})
	if err != nil || size != 4+1+4+2+4+2+4 {
		t.Errorf("size %d, %v", size, err)
	}
	if _, err := ToolsSize([]ResourceTool{{Name: "a"}}); err == nil {
		t.Error("a tool without a schema has a size")
	}
}

func FuzzCanonicalJSON(f *testing.F) {
	for _, s := range []string{`{"b":1,"a":[{}]}`, `"\u2028<"`, `1e400`, `{"a":1,"a":2}`, "\"\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := CanonicalJSON(in)
		if err != nil {
			return
		}
		twice, err := CanonicalJSON(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q becomes %q, then %q, %v", in, once, twice, err)
		}
	})
}
