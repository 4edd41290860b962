package chat

import "time"

// ContextPin names the Snapshot that a Chat's Turns use.
type ContextPin struct {
	// Address names the content in the store, Number counts the Snapshots of the Workspace.
	Address Hash  `json:"address"`
	Number  int64 `json:"number"`
	// Aggregate decides whether the Chat is out of date.
	Aggregate Hash      `json:"aggregate"`
	At        time.Time `json:"at"`
	// DirtySince is when the Workspace's context became another one than this; zero while it is the same.
	DirtySince time.Time `json:"dirty_since,omitzero"`
}

// Dirty says whether the Chat's context is out of date.
func (p *ContextPin) Dirty() bool { return p != nil && !p.DirtySince.IsZero() }

// SnapshotRecord is a Snapshot as the store keeps it: immutable, addressed by its content, numbered per Workspace.
type SnapshotRecord struct {
	Address Hash
	Number  int64
	// At is when it was last known to be the newest.
	At time.Time
	// Snapshot has the Payloads only when they were asked for.
	Snapshot Snapshot
}

// Pin is how a Chat pins the record.
func (r *SnapshotRecord) Pin(now time.Time) *ContextPin {
	return &ContextPin{Address: r.Address, Number: r.Number, Aggregate: r.Snapshot.AggregateHash, At: now}
}

// NewestSnapshot says which Snapshot of a Workspace is the newest, and of which run of its Agent.
type NewestSnapshot struct {
	Address   Hash      `json:"address"`
	Number    int64     `json:"number"`
	Aggregate Hash      `json:"aggregate"`
	Full      Hash      `json:"full"`
	BootID    string    `json:"boot_id"`
	Version   uint64    `json:"version"`
	Settled   bool      `json:"mcp_settled"`
	At        time.Time `json:"at"`
	// Last is the highest number that was given; a content that returns has its old one.
	Last int64 `json:"last"`
}

// Values of User.ContextRefresh.
const (
	// RefreshManual: a Chat keeps its pin until a person takes the newest context.
	RefreshManual = "manual"
	// RefreshAuto: each new Turn pins the newest.
	RefreshAuto = "auto"
)
