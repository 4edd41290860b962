package chat

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"slices"
)

// Caps of a Snapshot (agentside.md 1). Who makes one keeps them, and who receives one checks them.
const (
	MaxResourceBytes = 64 << 10
	MaxSnapshotBytes = 2 << 20
	// MaxResources are in use; with those that are excluded at most MaxListed are listed.
	MaxResources       = 500
	MaxListed          = 1000
	MaxSources         = 64
	MaxResourceSource  = 1024
	MaxResourceError   = 4096
	MaxResourceName    = 64
	MaxDescriptionRune = 1024
)

// oversizeHead is how much of an oversize file its hash covers: an edit behind it that keeps the size is not seen.
const oversizeHead = 8 << 20

// FileHash is the hash of a file's bytes.
func FileHash(content []byte) Hash { return sha256.Sum256(content) }

// OversizeHash is the hash of a file that is too large to be kept; of r at most the first 8 MiB are read.
func OversizeHash(size int64, r io.Reader) (Hash, error) {
	h := hashing("oversize")
	h.u64(uint64(size))
	if _, err := io.Copy(h, io.LimitReader(r, oversizeHead)); err != nil {
		return Hash{}, err
	}
	return h.sum(), nil
}

// ServerHash is the hash of a connected MCP server. Schemas and annotations that are no JSON are an error.
func ServerHash(name string, tools []ResourceTool) (Hash, error) {
	h := serverHash("ok", name)
	h.u32(len(tools))
	if err := eachTool(h, tools); err != nil {
		return Hash{}, err
	}
	return h.sum(), nil
}

// FailedServerHash is the hash of an MCP server that failed with the error that is shown.
func FailedServerHash(name, shown string) Hash {
	h := serverHash("failed", name)
	h.frame([]byte(shown))
	return h.sum()
}

// UnapprovedServerHash is the hash of an MCP server that nobody has approved yet.
func UnapprovedServerHash(name string) Hash { return serverHash("untrusted", name).sum() }

func serverHash(state, name string) hasher {
	h := hashing("mcp")
	h.frame([]byte(state))
	h.frame([]byte(name))
	return h
}

// ToolsSize is what a tool list counts against the cap of a Snapshot: the bytes of it that its hash covers.
func ToolsSize(tools []ResourceTool) (int64, error) {
	var n counter
	err := eachTool(hasher{Hash: &n}, tools)
	return n.bytes, err
}

// eachTool writes the tools in the order of their names.
func eachTool(h hasher, tools []ResourceTool) error {
	for _, t := range sortedBy(tools, func(t ResourceTool) string { return t.Name }) {
		schema, err := CanonicalJSON(t.InputSchema)
		if err != nil {
			return err
		}
		var annotations []byte
		if t.Annotations != nil {
			if annotations, err = CanonicalJSON(t.Annotations); err != nil {
				return err
			}
		}
		for _, b := range [][]byte{[]byte(t.Name), []byte(t.Description), schema, annotations} {
			h.frame(b)
		}
	}
	return nil
}

// AggregateHash decides whether a Chat is out of date. MCP configs and servers are not in it: their tools are looked up live.
func AggregateHash(resources []Resource) Hash {
	var seen []Resource
	for _, r := range sortedBy(resources, Resource.ID) {
		if r.Kind != ResourceMCPConfig && r.Kind != ResourceMCPServer {
			seen = append(seen, r)
		}
	}
	h := hashing("aggregate")
	h.u32(len(seen))
	for _, r := range seen {
		h.resource(r)
	}
	return h.sum()
}

// FullHash decides whether a Snapshot is pushed: it covers all that a reader sees.
func FullHash(resources []Resource, problem string, settled bool) Hash {
	h := hashing("full")
	h.u32(len(resources))
	for _, r := range sortedBy(resources, Resource.ID) {
		h.resource(r)
		h.frame([]byte(r.SourcePath))
		h.u64(uint64(r.SizeBytes))
		for _, text := range []string{r.Error, r.Name, r.Description} {
			h.frame([]byte(text))
		}
	}
	h.frame([]byte(problem))
	last := []byte{0}
	if settled {
		last[0] = 1
	}
	h.Write(last)
	return h.sum()
}

// CanonicalJSON gives one JSON value with sorted keys, no spaces and numbers as they were written.
func CanonicalJSON(value []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one JSON value")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// hasher writes the framed form of agentside.md 3.
type hasher struct{ hash.Hash }

func hashing(what string) hasher {
	h := hasher{sha256.New()}
	io.WriteString(h, "holdfast/context/"+what+"/1\n")
	return h
}

func (h hasher) u32(n int)    { h.Write(binary.BigEndian.AppendUint32(nil, uint32(n))) }
func (h hasher) u64(n uint64) { h.Write(binary.BigEndian.AppendUint64(nil, n)) }

func (h hasher) frame(b []byte) {
	h.u32(len(b))
	h.Write(b)
}

func (h hasher) resource(r Resource) {
	h.frame([]byte(r.ID()))
	h.frame([]byte(r.Status))
	h.Write(r.ContentHash[:])
}

func (h hasher) sum() Hash { return Hash(h.Sum(nil)) }

// counter is a Hash that only counts.
type counter struct {
	hash.Hash
	bytes int64
}

// Write counts b.
func (c *counter) Write(b []byte) (int, error) {
	c.bytes += int64(len(b))
	return len(b), nil
}

func sortedBy[T any](list []T, key func(T) string) []T {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return sorted
}
