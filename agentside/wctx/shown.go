package wctx

import "holdfast/engine/chat"

// shownSnapshot is a Snapshot on the wire of the local API: without payloads and schemas.
type shownSnapshot struct {
	Version       uint64          `json:"version"`
	Ready         bool            `json:"ready"`
	MCPSettled    bool            `json:"mcp_settled"`
	AggregateHash chat.Hash       `json:"aggregate_hash"`
	FullHash      chat.Hash       `json:"full_hash"`
	Resources     []shownResource `json:"resources"`
	PayloadBytes  int64           `json:"payload_bytes"`
	SnapshotError string          `json:"snapshot_error,omitempty"`
}

type shownResource struct {
	ID          string              `json:"id"`
	Kind        chat.ResourceKind   `json:"kind"`
	Source      string              `json:"source"`
	SourcePath  string              `json:"source_path,omitempty"`
	Status      chat.ResourceStatus `json:"status"`
	Error       string              `json:"error,omitempty"`
	Name        string              `json:"name,omitempty"`
	Description string              `json:"description,omitempty"`
	SizeBytes   int64               `json:"size_bytes"`
	ContentHash chat.Hash           `json:"content_hash"`
	Tools       []shownTool         `json:"tools,omitempty"`
}

type shownTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

func shown(s chat.Snapshot) shownSnapshot {
	out := shownSnapshot{Version: s.Version, Ready: s.Ready, MCPSettled: s.MCPSettled, AggregateHash: s.AggregateHash, FullHash: s.FullHash,
		Resources: make([]shownResource, 0, len(s.Resources)), PayloadBytes: s.PayloadBytes, SnapshotError: s.Error}
	for _, r := range s.Resources {
		one := shownResource{ID: r.ID(), Kind: r.Kind, Source: r.Source, SourcePath: r.SourcePath, Status: r.Status, Error: r.Error, Name: r.Name,
			Description: r.Description, SizeBytes: r.SizeBytes, ContentHash: r.ContentHash}
		for _, t := range r.Tools {
			one.Tools = append(one.Tools, shownTool{t.Name, t.Description})
		}
		out.Resources = append(out.Resources, one)
	}
	return out
}
