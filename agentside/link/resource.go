package link

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	"holdfast/agentside/link/wire"
	"holdfast/engine/chat"
)

// KindUnknown is what a Resource becomes whose body this binary does not know; it is kept and shown as such.
const KindUnknown chat.ResourceKind = "unknown"

var statusToWire = map[chat.ResourceStatus]wire.ResourceStatus{
	chat.ResourceOK:         wire.ResourceStatus_STATUS_OK,
	chat.ResourceOversize:   wire.ResourceStatus_STATUS_OVERSIZE,
	chat.ResourceUnreadable: wire.ResourceStatus_STATUS_UNREADABLE,
	chat.ResourceInvalid:    wire.ResourceStatus_STATUS_INVALID,
	chat.ResourceExcluded:   wire.ResourceStatus_STATUS_EXCLUDED,
}

var statusFromWire = map[wire.ResourceStatus]chat.ResourceStatus{
	wire.ResourceStatus_STATUS_OK:         chat.ResourceOK,
	wire.ResourceStatus_STATUS_OVERSIZE:   chat.ResourceOversize,
	wire.ResourceStatus_STATUS_UNREADABLE: chat.ResourceUnreadable,
	wire.ResourceStatus_STATUS_INVALID:    chat.ResourceInvalid,
	wire.ResourceStatus_STATUS_EXCLUDED:   chat.ResourceExcluded,
}

// statusUnknown is what a status becomes that this binary does not know.
const statusUnknown chat.ResourceStatus = "unknown"

// encodePush writes a Snapshot for the wire. The warnings name tools whose schema could not be written; they go without one.
func encodePush(s chat.Snapshot, initial bool) (*wire.PushContextStateRequest, []string) {
	out := &wire.PushContextStateRequest{BootId: s.BootID, Version: s.Version, AggregateHash: s.AggregateHash[:], FullHash: s.FullHash[:],
		Initial: initial, McpSettled: s.MCPSettled, SnapshotError: valid(s.Error)}
	var warnings []string
	for _, r := range s.Resources {
		encoded, warned := encodeResource(r)
		out.Resources = append(out.Resources, encoded)
		warnings = append(warnings, warned...)
	}
	return out, warnings
}

func encodeResource(r chat.Resource) (*wire.ContextResource, []string) {
	out := &wire.ContextResource{Source: valid(r.Source), SourcePath: valid(r.SourcePath), ContentHash: r.ContentHash[:],
		SizeBytes: uint64(max(r.SizeBytes, 0)), Status: statusToWire[r.Status], Error: valid(r.Error)}
	name, about := valid(r.Name), valid(r.Description)
	var warnings []string
	switch r.Kind {
	case chat.ResourceInstructionFile:
		out.Body = &wire.ContextResource_InstructionFile{InstructionFile: &wire.InstructionFileBody{Content: r.Payload, Description: about}}
	case chat.ResourceSkill:
		out.Body = &wire.ContextResource_Skill{Skill: &wire.SkillBody{Meta: r.Payload, Name: name, Description: about}}
	case chat.ResourceMCPConfig:
		out.Body = &wire.ContextResource_McpConfig{McpConfig: &wire.MCPConfigBody{}}
	case chat.ResourceMCPServer:
		body := &wire.MCPServerBody{ServerName: name}
		if name == r.Source {
			body.ServerName = ""
		}
		for _, t := range r.Tools {
			encoded, warning := encodeTool(t)
			body.Tools = append(body.Tools, encoded)
			if warning != "" {
				warnings = append(warnings, fmt.Sprintf("server %s, %s", r.Source, warning))
			}
		}
		out.Body = &wire.ContextResource_McpServer{McpServer: body}
	case chat.ResourcePlugin:
		out.Body = &wire.ContextResource_Plugin{Plugin: &wire.PluginBody{Name: name, Description: about}}
	}
	return out, warnings
}

func encodeTool(t chat.ResourceTool) (*wire.MCPTool, string) {
	out := &wire.MCPTool{Name: valid(t.Name), Description: valid(t.Description)}
	var warning string
	read := func(field string, text []byte) *structpb.Struct {
		if len(text) == 0 {
			return nil
		}
		s := &structpb.Struct{}
		if err := s.UnmarshalJSON(text); err != nil {
			warning = fmt.Sprintf("tool %s: its %s could not be sent", t.Name, field)
			return nil
		}
		return s
	}
	out.InputSchema, out.Annotations = read("schema", t.InputSchema), read("annotations", t.Annotations)
	return out, warning
}

// decodePush reads what an Agent pushed. A request that no sound Agent sends is an error; limits are the receiver's business.
func decodePush(p *wire.PushContextStateRequest) (chat.Snapshot, error) {
	s := chat.Snapshot{BootID: p.GetBootId(), Version: p.GetVersion(), Ready: true, MCPSettled: p.GetMcpSettled(), Error: p.GetSnapshotError(),
		Resources: []chat.Resource{}}
	if err := hashFrom(&s.AggregateHash, "aggregate_hash", p.GetAggregateHash()); err != nil {
		return chat.Snapshot{}, err
	}
	if err := hashFrom(&s.FullHash, "full_hash", p.GetFullHash()); err != nil {
		return chat.Snapshot{}, err
	}
	for _, r := range p.GetResources() {
		decoded, err := decodeResource(r)
		if err != nil {
			return chat.Snapshot{}, fmt.Errorf("resource %q: %w", r.GetSource(), err)
		}
		size, err := chat.ToolsSize(decoded.Tools)
		if err != nil {
			return chat.Snapshot{}, fmt.Errorf("resource %q: %w", r.GetSource(), err)
		}
		if decoded.Kind != chat.ResourceMCPServer {
			size = int64(len(decoded.Payload))
		}
		s.PayloadBytes += size
		s.Resources = append(s.Resources, decoded)
	}
	return s, nil
}

func decodeResource(r *wire.ContextResource) (chat.Resource, error) {
	out := chat.Resource{Source: r.GetSource(), SourcePath: r.GetSourcePath(), SizeBytes: int64(r.GetSizeBytes()), Error: r.GetError()}
	if out.SizeBytes < 0 {
		return out, fmt.Errorf("its size %d is too large", r.GetSizeBytes())
	}
	if err := hashFrom(&out.ContentHash, "content_hash", r.GetContentHash()); err != nil {
		return out, err
	}
	var known bool
	if out.Status, known = statusFromWire[r.GetStatus()]; !known {
		out.Status = statusUnknown
	}
	switch body := r.GetBody().(type) {
	case *wire.ContextResource_InstructionFile:
		out.Kind, out.Payload, out.Description = chat.ResourceInstructionFile, body.InstructionFile.GetContent(), body.InstructionFile.GetDescription()
	case *wire.ContextResource_Skill:
		out.Kind, out.Payload = chat.ResourceSkill, body.Skill.GetMeta()
		out.Name, out.Description = body.Skill.GetName(), body.Skill.GetDescription()
	case *wire.ContextResource_McpConfig:
		out.Kind = chat.ResourceMCPConfig
	case *wire.ContextResource_McpServer:
		out.Kind, out.Name = chat.ResourceMCPServer, body.McpServer.GetServerName()
		if out.Name == "" {
			out.Name = out.Source
		}
		return out, decodeTools(&out, body.McpServer.GetTools())
	case *wire.ContextResource_Plugin:
		out.Kind, out.Name, out.Description = chat.ResourcePlugin, body.Plugin.GetName(), body.Plugin.GetDescription()
	default:
		out.Kind = KindUnknown
	}
	if len(out.Payload) == 0 {
		out.Payload = nil
	}
	return out, nil
}

func decodeTools(out *chat.Resource, tools []*wire.MCPTool) error {
	for _, t := range tools {
		decoded := chat.ResourceTool{Name: t.GetName(), Description: t.GetDescription()}
		for _, part := range []struct {
			from *structpb.Struct
			to   *[]byte
		}{{t.GetInputSchema(), &decoded.InputSchema}, {t.GetAnnotations(), &decoded.Annotations}} {
			if part.from == nil {
				continue
			}
			text, err := json.Marshal(part.from.AsMap())
			if err != nil {
				return fmt.Errorf("tool %q: %w", t.GetName(), err)
			}
			if *part.to, err = chat.CanonicalJSON(text); err != nil {
				return fmt.Errorf("tool %q: %w", t.GetName(), err)
			}
		}
		if decoded.InputSchema == nil {
			decoded.InputSchema = []byte(`{"type":"object"}`)
		}
		out.Tools = append(out.Tools, decoded)
	}
	return nil
}

func hashFrom(to *chat.Hash, field string, from []byte) error {
	if len(from) != len(to) {
		return fmt.Errorf("%s has %d bytes, not %d", field, len(from), len(to))
	}
	copy(to[:], from)
	return nil
}

// valid keeps protobuf from refusing a whole push for one odd byte.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}
