package wctx

import (
	"encoding/json"
	"fmt"
	"net/http"

	"holdfast/engine/chat"
)

// What follows reads, at the other end of a link, what Handler writes. Who wrote it is not trusted: texts are cut, lists bounded.

// maxShownText bounds a text of an answer, in bytes.
const maxShownText = 4 << 10

// ReadShown reads a Snapshot, which has neither Payloads nor schemas.
func ReadShown(b []byte) (chat.Snapshot, error) {
	var in shownSnapshot
	if err := json.Unmarshal(b, &in); err != nil {
		return chat.Snapshot{}, fmt.Errorf("the workspace's context cannot be read: %w", err)
	}
	if len(in.Resources) > chat.MaxListed {
		return chat.Snapshot{}, fmt.Errorf("the workspace's context has %d resources, at most %d are taken", len(in.Resources), chat.MaxListed)
	}
	out := chat.Snapshot{Version: in.Version, Ready: in.Ready, MCPSettled: in.MCPSettled, AggregateHash: in.AggregateHash, FullHash: in.FullHash,
		Resources: make([]chat.Resource, 0, len(in.Resources)), PayloadBytes: in.PayloadBytes, Error: clip(in.SnapshotError, maxShownText)}
	for _, r := range in.Resources {
		one := chat.Resource{Kind: chat.ResourceKind(clip(string(r.Kind), chat.MaxResourceName)), Source: clip(r.Source, chat.MaxResourceSource),
			SourcePath: clip(r.SourcePath, chat.MaxResourceSource), Status: r.Status, Error: clip(r.Error, chat.MaxResourceError),
			Name: clip(r.Name, chat.MaxResourceName), Description: clip(r.Description, maxShownText), SizeBytes: max(r.SizeBytes, 0), ContentHash: r.ContentHash}
		for _, t := range r.Tools {
			one.Tools = append(one.Tools, chat.ResourceTool{Name: clip(t.Name, maxShownText), Description: clip(t.Description, maxShownText)})
		}
		out.Resources = append(out.Resources, one)
	}
	return out, nil
}

// ReadSources reads the list of Sources.
func ReadSources(b []byte) ([]string, error) {
	var in []shownSource
	if err := json.Unmarshal(b, &in); err != nil || len(in) > chat.MaxSources {
		return nil, fmt.Errorf("the sources of the workspace cannot be read (%d of them, %w)", len(in), err)
	}
	out := make([]string, 0, len(in))
	for _, s := range in {
		out = append(out, clip(s.Path, chat.MaxResourceSource))
	}
	return out, nil
}

// ReadSource reads the identity of a Source, WriteSource writes the body that adds one.
func ReadSource(b []byte) (string, error) {
	var in shownSource
	if err := json.Unmarshal(b, &in); err != nil {
		return "", fmt.Errorf("the source cannot be read: %w", err)
	}
	return clip(in.Path, chat.MaxResourceSource), nil
}

// WriteSource writes the body that adds a Source.
func WriteSource(path string) ([]byte, error) { return json.Marshal(shownSource{path}) }

// ReadRefusal reads what was said with a status, as the port has it.
func ReadRefusal(status int, b []byte) error {
	var in problem
	if err := json.Unmarshal(b, &in); err != nil || in.Message == "" {
		in = problem{Message: fmt.Sprintf("The agent answered with status %d.", status)}
	}
	out := &chat.Error{Kind: chat.KindGeneric, Message: clip(in.Message, maxShownText), Detail: clip(in.Detail, maxShownText)}
	switch status {
	case http.StatusBadRequest:
		out.Kind = chat.KindInvalid
		for i, v := range in.Validations {
			if i == chat.MaxSources {
				break
			}
			out.Validations = append(out.Validations, chat.Validation{Field: clip(v.Field, chat.MaxResourceName), Detail: clip(v.Detail, maxShownText)})
		}
	case http.StatusNotFound:
		out.Kind = chat.KindNotFound
	case http.StatusConflict:
		out.Kind = chat.KindWrongState
	case http.StatusServiceUnavailable:
		return chat.ErrContextClosed
	case http.StatusGatewayTimeout:
		out.Kind = chat.KindTimeout
	}
	return out
}
