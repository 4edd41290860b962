package link

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"holdfast/agentside/link/wire"
	"holdfast/engine/chat"
)

var everyStatus = []chat.ResourceStatus{chat.ResourceOK, chat.ResourceOversize, chat.ResourceUnreadable, chat.ResourceInvalid, chat.ResourceExcluded}

// example is a Resource of a kind and status with all that it may have.
func example(kind chat.ResourceKind, status chat.ResourceStatus) chat.Resource {
	r := chat.Resource{Kind: kind, Source: fmt.Sprintf("/w/%s-%s", kind, status), SourcePath: "/w", Status: status, SizeBytes: 6, ContentHash: chat.Hash{1, 2}}
	if status != chat.ResourceOK {
		r.Error = "it is " + string(status)
	}
	whole := status == chat.ResourceOK
	switch kind {
	case chat.ResourceInstructionFile:
		r.Description = "Title"
	case chat.ResourceSkill, chat.ResourcePlugin:
		r.Name, r.Description = "brew", "makes coffee"
	case chat.ResourceMCPServer:
		r.Name = "files"
		if whole {
			r.Tools = []chat.ResourceTool{{Name: "read", Description: "Read a file", InputSchema: []byte(`{"properties":{},"type":"object"}`)},
				{Name: "write", InputSchema: []byte(`{"type":"object"}`), Annotations: []byte(`{"readOnlyHint":false}`)}}
		}
	}
	if whole && (kind == chat.ResourceInstructionFile || kind == chat.ResourceSkill) {
		r.Payload = []byte("hello\n")
	}
	return r
}

// over sends a push over the wire's bytes.
func over(t *testing.T, s chat.Snapshot) (chat.Snapshot, *wire.PushContextStateRequest) {
	t.Helper()
	encoded, warnings := encodePush(s, true)
	if len(warnings) > 0 {
		t.Errorf("warned: %v", warnings)
	}
	text, err := proto.Marshal(encoded)
	if err != nil {
		t.Fatal(err)
	}
	var arrived wire.PushContextStateRequest
	if err := proto.Unmarshal(text, &arrived); err != nil {
		t.Fatal(err)
	}
	decoded, err := decodePush(&arrived)
	if err != nil {
		t.Fatal(err)
	}
	return decoded, &arrived
}

// TestCase41EveryKindAndStatus: a Resource arrives as it was sent, its body set whatever the status.
func TestCase41EveryKindAndStatus(t *testing.T) {
	s := chat.Snapshot{BootID: "b1", Version: 7, Ready: true, MCPSettled: true, Resources: []chat.Resource{}, Error: "3 resources left out: over 2 MiB"}
	for _, kind := range []chat.ResourceKind{chat.ResourceInstructionFile, chat.ResourceSkill, chat.ResourceMCPConfig, chat.ResourceMCPServer, chat.ResourcePlugin} {
		for _, status := range everyStatus {
			s.Resources = append(s.Resources, example(kind, status))
		}
	}
	named := example(chat.ResourceMCPServer, chat.ResourceOK)
	named.Name = named.Source
	s.Resources = append(s.Resources, named)
	s.AggregateHash, s.FullHash = chat.AggregateHash(s.Resources), chat.FullHash(s.Resources, s.Error, s.MCPSettled)
	for _, r := range s.Resources {
		size, err := chat.ToolsSize(r.Tools)
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != chat.ResourceMCPServer {
			size = int64(len(r.Payload))
		}
		s.PayloadBytes += size
	}
	got, sent := over(t, s)
	if !reflect.DeepEqual(got, s) {
		for i := range s.Resources {
			if !reflect.DeepEqual(got.Resources[i], s.Resources[i]) {
				t.Errorf("sent %+v, got %+v", s.Resources[i], got.Resources[i])
			}
		}
		t.Fatalf("sent %+v\n got %+v", s, got)
	}
	if again := chat.FullHash(got.Resources, got.Error, got.MCPSettled); again != s.FullHash {
		t.Error("the far end computes another hash")
	}
	for _, r := range sent.GetResources() {
		if r.GetBody() == nil || r.GetStatus() == wire.ResourceStatus_STATUS_UNSPECIFIED {
			t.Errorf("%s: body %v, status %v", r.GetSource(), r.GetBody(), r.GetStatus())
		}
		if c := r.GetMcpConfig(); c != nil && proto.Size(c) != 0 {
			t.Errorf("%s has a body", r.GetSource())
		}
	}
	if first := sent.GetResources()[15].GetMcpServer().GetTools()[0]; len(first.GetInputSchema().GetFields()) != 2 || first.GetInputSchema().GetFields()["properties"].GetStructValue() == nil {
		t.Errorf("the empty properties are gone: %v", first)
	}
}

func TestUnknownKindsAreKept(t *testing.T) {
	for _, kind := range []chat.ResourceKind{chat.ResourceHook, chat.ResourceSubagent, chat.ResourceCommand} {
		got, _ := over(t, chat.Snapshot{Resources: []chat.Resource{{Kind: kind, Source: "/w/x", Status: chat.ResourceOK}}})
		if r := got.Resources[0]; r.Kind != KindUnknown || r.Source != "/w/x" || r.ID() != "unknown:/w/x" {
			t.Errorf("%s: %+v", kind, r)
		}
	}
	odd := &wire.ContextResource{Source: "x", ContentHash: make([]byte, 32), Status: 77}
	if r, err := decodeResource(odd); err != nil || r.Status != statusUnknown {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPushThatBreaksTheRules(t *testing.T) {
	whole := func() *wire.PushContextStateRequest {
		p, _ := encodePush(chat.Snapshot{Resources: []chat.Resource{example(chat.ResourceSkill, chat.ResourceOK)}}, false)
		return p
	}
	for name, spoil := range map[string]func(p *wire.PushContextStateRequest){
		"aggregate_hash has 3":  func(p *wire.PushContextStateRequest) { p.AggregateHash = []byte("abc") },
		"full_hash has 0":       func(p *wire.PushContextStateRequest) { p.FullHash = nil },
		"content_hash has 1":    func(p *wire.PushContextStateRequest) { p.Resources[0].ContentHash = []byte("x") },
		"is too large":          func(p *wire.PushContextStateRequest) { p.Resources[0].SizeBytes = 1 << 63 },
		`resource "": content_`: func(p *wire.PushContextStateRequest) { p.Resources[0] = &wire.ContextResource{} },
	} {
		p := whole()
		spoil(p)
		if _, err := decodePush(p); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := example(chat.ResourceMCPServer, chat.ResourceOK)
	broken.Tools[0].InputSchema = []byte(`[1]`)
	p, warnings := encodePush(chat.Snapshot{Resources: []chat.Resource{broken}}, false)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "tool read: its schema") || len(p.Resources[0].GetMcpServer().GetTools()) != 2 {
		t.Errorf("%v", warnings)
	}
	if got, err := decodePush(p); err != nil || string(got.Resources[0].Tools[0].InputSchema) != `{"type":"object"}` {
		t.Errorf("%+v, %v", got, err)
	}
	odd := chat.Snapshot{Resources: []chat.Resource{{Kind: chat.ResourceSkill, Source: "/w/\xff", Status: chat.ResourceInvalid, Error: "\xfe"}}}
	if _, err := proto.Marshal(first(encodePush(odd, false))); err != nil {
		t.Errorf("one odd byte breaks the push: %v", err)
	}
}

func first[A, B any](a A, _ B) A { return a }

// FuzzPush: whatever an Agent sends is decoded or refused, and what was decoded can be sent again.
func FuzzPush(f *testing.F) {
	for _, kind := range []chat.ResourceKind{chat.ResourceInstructionFile, chat.ResourceSkill, chat.ResourceMCPServer} {
		p, _ := encodePush(chat.Snapshot{Resources: []chat.Resource{example(kind, chat.ResourceOK)}}, true)
		text, err := proto.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var p wire.PushContextStateRequest
		if proto.Unmarshal(text, &p) != nil {
			return
		}
		s, err := decodePush(&p)
		if err != nil {
			return
		}
		again, _ := encodePush(s, p.GetInitial())
		if second, err := decodePush(again); err != nil || len(second.Resources) != len(s.Resources) {
			t.Errorf("%+v: %v", s, err)
		}
	})
}
