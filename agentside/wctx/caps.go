package wctx

import (
	"cmp"
	"fmt"
	"slices"

	"holdfast/engine/chat"
)

// Caps bound a Snapshot; zero is the default.
type Caps struct {
	ResourceBytes int64
	SnapshotBytes int64
	Resources     int
	// Entries is how many entries of one directory are looked at.
	Entries int
}

func (c Caps) orDefault() Caps {
	return Caps{ResourceBytes: cmp.Or(c.ResourceBytes, chat.MaxResourceBytes), SnapshotBytes: cmp.Or(c.SnapshotBytes, chat.MaxSnapshotBytes),
		Resources: cmp.Or(c.Resources, chat.MaxResources), Entries: cmp.Or(c.Entries, 10_000)}
}

// kindOrder is the order in caps and listings.
var kindOrder = []chat.ResourceKind{chat.ResourceInstructionFile, chat.ResourceSkill, chat.ResourceMCPConfig, chat.ResourceMCPServer, chat.ResourcePlugin,
	chat.ResourceHook, chat.ResourceSubagent, chat.ResourceCommand}

// tally is what the caps have let in so far.
type tally struct {
	caps                       Caps
	index                      int
	bytes                      int64
	overCount, overBytes, long int
	unlisted                   int
	out                        []chat.Resource
}

// apply lets in what the caps allow, files before servers, and says what was left out.
func (c Caps) apply(files []item, servers []chat.Resource, out *body) {
	slices.SortStableFunc(files, func(a, b item) int {
		return cmp.Or(cmp.Compare(slices.Index(kindOrder, a.Kind), slices.Index(kindOrder, b.Kind)), cmp.Compare(a.root, b.root),
			compareBool(a.child, b.child), cmp.Compare(a.Source, b.Source))
	})
	t := tally{caps: c, out: []chat.Resource{}}
	for _, f := range files {
		t.add(f.Resource, int64(len(f.Payload)))
	}
	list := slices.Clone(servers)
	slices.SortStableFunc(list, func(a, b chat.Resource) int { return cmp.Compare(a.ID(), b.ID()) })
	for _, s := range list {
		size, err := chat.ToolsSize(s.Tools)
		if err != nil {
			s.Status, s.Error, s.Tools = chat.ResourceInvalid, "the tools of the server are not valid", nil
		}
		t.add(s, size)
	}
	slices.SortFunc(t.out, func(a, b chat.Resource) int { return cmp.Compare(a.ID(), b.ID()) })
	out.resources, out.payloadBytes, out.left = t.out, t.bytes, t.left()
}

func (t *tally) add(r chat.Resource, size int64) {
	if len(r.Source) > chat.MaxResourceSource {
		t.long++
		return
	}
	t.index++
	switch {
	case t.index > t.caps.Resources:
		t.overCount++
		exclude(&r, fmt.Sprintf("over the %d of a workspace", t.caps.Resources))
	case r.Status == chat.ResourceOK && t.bytes+size > t.caps.SnapshotBytes:
		t.overBytes++
		exclude(&r, "over the "+sizeText(t.caps.SnapshotBytes)+" of a workspace")
	case r.Status == chat.ResourceOK:
		t.bytes += size
	default:
		r.Payload, r.Tools = nil, nil
	}
	if len(t.out) == chat.MaxListed {
		t.unlisted++
		return
	}
	r.Error = clip(r.Error, chat.MaxResourceError)
	t.out = append(t.out, r)
}

func exclude(r *chat.Resource, why string) {
	r.Status, r.Error, r.Payload, r.Tools = chat.ResourceExcluded, why, nil, nil
}

func (t *tally) left() []string {
	var out []string
	for _, l := range []struct {
		n   int
		why string
	}{{t.overCount, fmt.Sprintf("over %d", t.caps.Resources)}, {t.overBytes, "over " + sizeText(t.caps.SnapshotBytes)},
		{t.long, fmt.Sprintf("with a path over %d bytes", chat.MaxResourceSource)}, {t.unlisted, "not even listed"}} {
		if l.n == 1 {
			out = append(out, "1 resource left out: "+l.why)
		} else if l.n > 1 {
			out = append(out, fmt.Sprintf("%d resources left out: %s", l.n, l.why))
		}
	}
	return out
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// sizeText writes a size in the largest unit that fits it whole.
func sizeText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
