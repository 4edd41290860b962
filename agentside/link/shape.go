package link

import (
	"math"
	"time"

	"holdfast/engine/chat"
)

// These are the dictionary's records as they stand in JSON on the link. Fields and their order are the dictionary's, so that the
// compiler says when one is missing.

type startShape struct {
	ID         string  `json:"id"`
	ChatID     chat.ID `json:"-"`
	Command    string  `json:"command"`
	Workdir    string  `json:"workdir,omitempty"`
	Background bool    `json:"background,omitempty"`
	ReadOnly   bool    `json:"read_only,omitempty"`
	DeadlineMS int64   `json:"deadline_ms,omitempty"`
	// Env is refused by an Agent that knows of none.
	Env map[string]string `json:"env,omitempty"`
	// Sandbox is the profile, Level what its machine was said to hold it to; an Agent that has no CapSandbox is sent neither.
	Sandbox chat.Profile      `json:"sandbox,omitempty"`
	Level   chat.SandboxLevel `json:"sandbox_level,omitempty"`
}

func shapeOf(s chat.ProcessStart) startShape {
	return startShape{ID: s.ID, ChatID: s.ChatID, Command: s.Command, Workdir: s.Workdir, Background: s.Background, ReadOnly: s.ReadOnly, DeadlineMS: s.Deadline.Milliseconds(), Env: s.Env,
		Sandbox: s.Profile, Level: s.Level}
}

// start gives back what shapeOf was made of; a time that is too long to be counted is none. An appliance that names no profile knows of no
// sandboxes: it asks a person about each command, and expects it to run as it is.
func (s startShape) start() chat.ProcessStart {
	out := chat.ProcessStart{ID: s.ID, ChatID: s.ChatID, Command: s.Command, Workdir: s.Workdir, Background: s.Background, ReadOnly: s.ReadOnly, Env: s.Env}
	if out.Profile, out.Level = s.Sandbox, s.Level; out.Profile == chat.ProfileDefault {
		out.Profile = chat.ProfileOff
	}
	if s.DeadlineMS > 0 && s.DeadlineMS < math.MaxInt64/int64(time.Millisecond) {
		out.Deadline = time.Duration(s.DeadlineMS) * time.Millisecond
	}
	return out
}

type processShape struct {
	ID         string  `json:"id"`
	ChatID     chat.ID `json:"chat_id,omitempty"`
	Command    string  `json:"command"`
	Workdir    string  `json:"workdir"`
	Background bool    `json:"background,omitempty"`
	PID        int     `json:"pid"`
	// BootID is the machine's, beside StartTime; the Agent's own run is in the header.
	BootID    string     `json:"machine_boot_id,omitempty"`
	StartTime int64      `json:"start_time,omitempty"`
	Running   bool       `json:"running"`
	ExitCode  int        `json:"exit_code"`
	Signal    string     `json:"signal,omitempty"`
	Error     string     `json:"error,omitempty"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	// Sandbox is empty from an Agent that has none to tell of.
	Sandbox chat.Sandbox `json:"sandbox"`
}

type outputShape struct {
	processShape
	Output       string `json:"output"`
	NextOffset   int64  `json:"next_offset"`
	GapBytes     int64  `json:"gap_bytes,omitempty"`
	TotalBytes   int64  `json:"total_bytes"`
	OmittedBytes int64  `json:"omitted_bytes,omitempty"`
	Log          string `json:"log,omitempty"`
}

func outputTo(o chat.ProcessOutput) outputShape {
	return outputShape{processShape(o.ProcessInfo), o.Output, o.NextOffset, o.GapBytes, o.TotalBytes, o.OmittedBytes, o.Log}
}

func (o outputShape) from() chat.ProcessOutput {
	return chat.ProcessOutput{ProcessInfo: chat.ProcessInfo(o.processShape), Output: o.Output, NextOffset: o.NextOffset, GapBytes: o.GapBytes,
		TotalBytes: o.TotalBytes, OmittedBytes: o.OmittedBytes, Log: o.Log}
}

type signalShape struct {
	Signal string `json:"signal"`
	Fence  bool   `json:"fence,omitempty"`
}

type linesShape struct {
	Path       string `json:"path"`
	Content    string `json:"content"`
	FileSize   int64  `json:"file_size"`
	TotalLines int    `json:"total_lines"`
	LinesRead  int    `json:"lines_read"`
	NextOffset int    `json:"next_offset,omitempty"`
	Hash       string `json:"etag"`
}

type writtenShape struct {
	Path       string `json:"path"`
	Created    bool   `json:"created,omitempty"`
	BeforeHash string `json:"before_etag,omitempty"`
	Hash       string `json:"etag"`
	Diff       string `json:"diff,omitempty"`
}

type textEditShape struct {
	Search  string `json:"search"`
	Replace string `json:"replace"`
	All     bool   `json:"replace_all,omitempty"`
}

type fileEditsShape struct {
	Path    string          `json:"path"`
	IfMatch string          `json:"etag,omitempty"`
	Edits   []textEditShape `json:"edits"`
}

type editShape struct {
	Files  []fileEditsShape `json:"files"`
	DryRun bool             `json:"dry_run,omitempty"`
	Leave  *leaveShape      `json:"leave,omitempty"`
}

// leaveShape bounds a change; targets is null for any.
type leaveShape struct {
	Targets []string `json:"targets"`
	Agreed  []string `json:"agreed,omitempty"`
}

func leaveOf(l chat.Leave) leaveShape { return leaveShape{Targets: l.Targets, Agreed: l.Agreed} }

func (s leaveShape) free() bool { return s.Targets == nil && len(s.Agreed) == 0 }

// needs is the capability without which an Agent would refuse a change with these bounds, in words that help nobody.
func (s leaveShape) needs() string {
	if s.free() {
		return ""
	}
	return CapRules
}

type pathsShape struct {
	Paths []string `json:"paths"`
}

type targetsShape struct {
	List      []chat.Target `json:"targets"`
	FoldsCase bool          `json:"folds_case,omitempty"`
}

func editTo(req chat.EditRequest) editShape {
	out := editShape{DryRun: req.DryRun, Files: []fileEditsShape{}}
	if l := leaveOf(req.Leave); !l.free() {
		out.Leave = &l
	}
	for _, f := range req.Files {
		shaped := fileEditsShape{Path: f.Path, IfMatch: f.IfMatch, Edits: []textEditShape{}}
		for _, e := range f.Edits {
			shaped.Edits = append(shaped.Edits, textEditShape(e))
		}
		out.Files = append(out.Files, shaped)
	}
	return out
}

func (s editShape) from() chat.EditRequest {
	out := chat.EditRequest{DryRun: s.DryRun}
	if s.Leave != nil {
		out.Leave = chat.Leave{Targets: s.Leave.Targets, Agreed: s.Leave.Agreed}
	}
	for _, f := range s.Files {
		file := chat.FileEdits{Path: f.Path, IfMatch: f.IfMatch}
		for _, e := range f.Edits {
			file.Edits = append(file.Edits, chat.TextEdit(e))
		}
		out.Files = append(out.Files, file)
	}
	return out
}

type editedShape struct {
	Path       string `json:"path"`
	BeforeHash string `json:"before_etag"`
	Hash       string `json:"etag"`
	Level      int    `json:"level"`
	Diff       string `json:"diff,omitempty"`
	Before     []byte `json:"before,omitempty"`
}

type findShape struct {
	Kind       chat.FindKind `json:"kind"`
	Path       string        `json:"path,omitempty"`
	Pattern    string        `json:"pattern,omitempty"`
	Glob       string        `json:"include,omitempty"`
	Depth      int           `json:"depth,omitempty"`
	IgnoreCase bool          `json:"ignore_case,omitempty"`
	Context    int           `json:"context,omitempty"`
	Limit      int           `json:"limit,omitempty"`
}

type entryShape struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	Size   int64  `json:"size"`
	Target string `json:"target,omitempty"`
}

type matchShape struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Text    string `json:"text"`
	Context bool   `json:"context,omitempty"`
}

type foundShape struct {
	Entries    []entryShape `json:"entries,omitempty"`
	Matches    []matchShape `json:"matches,omitempty"`
	Incomplete string       `json:"incomplete,omitempty"`
}

func foundTo(f chat.Found) foundShape {
	return foundShape{Entries: each(f.Entries, func(e chat.FileEntry) entryShape { return entryShape(e) }),
		Matches: each(f.Matches, func(m chat.LineMatch) matchShape { return matchShape(m) }), Incomplete: f.Incomplete}
}

func (f foundShape) from() chat.Found {
	return chat.Found{Entries: each(f.Entries, func(e entryShape) chat.FileEntry { return chat.FileEntry(e) }),
		Matches: each(f.Matches, func(m matchShape) chat.LineMatch { return chat.LineMatch(m) }), Incomplete: f.Incomplete}
}

// each keeps nil nil.
func each[A, B any](all []A, to func(A) B) []B {
	if all == nil {
		return nil
	}
	out := make([]B, len(all))
	for i, a := range all {
		out[i] = to(a)
	}
	return out
}
