package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// kinds are those that this version knows; with another one among them only its maker can compute the hash over all.
var kinds = map[chat.ResourceKind]bool{chat.ResourceInstructionFile: true, chat.ResourceSkill: true, chat.ResourceMCPConfig: true,
	chat.ResourceMCPServer: true, chat.ResourcePlugin: true, chat.ResourceHook: true, chat.ResourceSubagent: true, chat.ResourceCommand: true}

var statuses = map[chat.ResourceStatus]bool{chat.ResourceOK: true, chat.ResourceOversize: true, chat.ResourceUnreadable: true,
	chat.ResourceInvalid: true, chat.ResourceExcluded: true}

// maxProblem bounds the error of a Snapshot, in bytes.
const maxProblem = 64 << 10

// checked computes again what a Snapshot says of itself, and gives it in the order of its ids. What breaks the rules is KindInvalid.
func checked(s chat.Snapshot) (chat.Snapshot, error) {
	switch {
	case !s.Ready:
		return s, broken("it is not ready")
	case len(s.Resources) > chat.MaxListed || inUse(s.Resources) > chat.MaxResources:
		return s, broken("it has %d resources, at most %d are taken", len(s.Resources), chat.MaxResources)
	case len(s.Error) > maxProblem || !utf8.ValidString(s.Error):
		return s, broken("its error has %d bytes, or is no text", len(s.Error))
	}
	s.Resources = slices.Clone(s.Resources)
	slices.SortStableFunc(s.Resources, func(a, b chat.Resource) int { return cmp.Compare(a.ID(), b.ID()) })
	known := true
	s.PayloadBytes = 0
	for i, r := range s.Resources {
		if i > 0 && s.Resources[i-1].ID() == r.ID() {
			return s, broken("%s is there twice", r.ID())
		}
		n, err := checkResource(r)
		if err != nil {
			return s, err
		}
		s.PayloadBytes += n
		known = known && kinds[r.Kind]
	}
	if s.PayloadBytes > chat.MaxSnapshotBytes {
		return s, broken("it has %d bytes, at most %d are taken", s.PayloadBytes, chat.MaxSnapshotBytes)
	}
	if known && chat.AggregateHash(s.Resources) != s.AggregateHash {
		return s, broken("its hash is not that of its resources")
	}
	return s, nil
}

// inUse counts the Resources that were not left out over a limit.
func inUse(list []chat.Resource) int {
	n := 0
	for _, r := range list {
		if r.Status != chat.ResourceExcluded {
			n++
		}
	}
	return n
}

// checkResource gives what a Resource counts against the limit of its Snapshot.
func checkResource(r chat.Resource) (int64, error) {
	id := r.ID()
	for _, t := range []struct {
		name, text string
		most       int
	}{{"kind", string(r.Kind), chat.MaxResourceName}, {"source", r.Source, chat.MaxResourceSource}, {"source path", r.SourcePath, chat.MaxResourceSource},
		{"error", r.Error, chat.MaxResourceError}, {"name", r.Name, chat.MaxResourceName}, {"description", r.Description, 4 * chat.MaxDescriptionRune}} {
		if len(t.text) > t.most || !utf8.ValidString(t.text) {
			return 0, broken("the %s of %.80q has %d bytes, or is no text", t.name, id, len(t.text))
		}
	}
	texts := r.Kind == chat.ResourceInstructionFile || r.Kind == chat.ResourceSkill
	switch {
	case r.Kind == "" || r.Source == "":
		return 0, broken("a resource has no kind or no source")
	case !statuses[r.Status]:
		return 0, broken("%s has the unknown status %q", id, r.Status)
	case r.Status != chat.ResourceOK && strings.TrimSpace(r.Error) == "":
		return 0, broken("%s is %s and does not say why", id, r.Status)
	case utf8.RuneCountInString(r.Description) > chat.MaxDescriptionRune, r.SizeBytes < 0:
		return 0, broken("%s describes itself too long, or has no size", id)
	case (r.Status != chat.ResourceOK || !texts) && len(r.Payload) > 0, r.Status != chat.ResourceOK && len(r.Tools) > 0:
		return 0, broken("%s has content, which it must not", id)
	case len(r.Payload) > chat.MaxResourceBytes:
		return 0, broken("%s has %d bytes, at most %d are taken", id, len(r.Payload), chat.MaxResourceBytes)
	case r.Status == chat.ResourceOK && texts && (chat.FileHash(r.Payload) != r.ContentHash || r.SizeBytes != int64(len(r.Payload))):
		return 0, broken("the hash or size of %s is not that of its content", id)
	}
	tools, err := chat.ToolsSize(r.Tools)
	if err != nil {
		return 0, broken("the tools of %s cannot be read", id)
	}
	return int64(len(r.Payload)) + tools, nil
}

func broken(format string, a ...any) error {
	return &chat.Error{Kind: chat.KindInvalid, Message: "The workspace's context was refused: " + fmt.Sprintf(format, a...) + "."}
}
