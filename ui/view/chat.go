package view

import (
	"holdfast/engine/chat"
	"holdfast/ui/text"
)

// ChatPage is a chat's whole document.
type ChatPage struct {
	Page      Page
	Nav       Nav
	Chat      Chat
	Inspector Inspector
}

// Chat is what stands in the middle column. Entries hold the newest Messages, oldest first, and at the end the Draft.
type Chat struct {
	ID        string
	Title     string
	Model     string
	Workspace string
	// Untrusted: commands of the workspace ask first.
	Untrusted bool
	Archived  bool
	// Damaged: a part cannot be read, so that nothing is added any more.
	Damaged bool
	// Done: the last Turn's answer was judged to be the end of the task.
	Done   bool
	Pinned bool
	// Labels are "key=value".
	Labels []string
	// Origin is the chat that this one began as a copy of; OriginTitle is "" where there is none or it is gone.
	Origin      string
	OriginTitle string

	Entries []Entry
	// Older: there are Messages before Entries.
	Older bool
	Rest  Rest
	Dock  Dock
	// Agents are the sub-agents at work; Parent is set in a sub-agent.
	Agents Agents
	Parent *Parent
	// Space is what a person must know of its workspace.
	Space SpaceNote
	// Context is what the chat has pinned, for the mark that it is out of date.
	Context Context
}

// Entry is one element of the transcript; exactly one field is set.
type Entry struct {
	Ask  *Ask
	Step *Step
	Mark *Mark
}

// Ask is a user Message. Element id: m-ID.
type Ask struct {
	ID   int64
	Text string
	// Day is set on the first Message of a day and becomes a date rule: "Today, 20 November".
	Day string
	// Time is shown ("14:06"), ISO is its machine form.
	Time string
	ISO  string
	Refs []Ref
	// Files are those that came with it.
	Files []Attached
	// Restore is the number of files that can go back to before this Turn, 0 for none.
	Restore int
	// Fixed: it cannot be written anew.
	Fixed  bool
	ChatID string
}

// Ref is a file or a range of lines that a person named. Source are the lines as they were then.
type Ref struct {
	Icon  string
	Label string
	// URL is where a source stands; it is shown and never fetched.
	URL    string
	Source []text.SourceLine
}

// Mark is a rule across the transcript: compaction, clear, restart. Element id: x-ID. A Gap is where something cannot be read: g-ID.
type Mark struct {
	ID   int64
	Icon string
	Text string
	Gap  bool
}

// Step is an assistant Message with its Calls, or the Draft of one. Element id: s-N, the same before and after the commit, so that the commit
// morphs it in place.
type Step struct {
	N      int64
	ChatID string
	Draft  bool
	// Joined: begins with a Call right after a Step that ended with one, so that the rows form one ledger. See Join.
	Joined bool
	Parts  []Part
	// Note says what cut the reply: "Interrupted by you", "The connection broke off". "" for a whole one.
	Note string
	// Meta stands under the last Step of a Turn.
	Meta *Meta
}

// Part is a piece of a Step in stream order; exactly one field is set.
type Part struct {
	Reasoning *Reasoning
	Prose     []text.Block
	Rows      []Row
	Advice    *Advice
	// Refs are what the reply named: sources, files, skills; Files are those that came with it.
	Refs  []Ref
	Files []Attached
}

// Reasoning is folded. Took is "14 s"; while it grows Since is its start in Unix milliseconds and Took is empty.
type Reasoning struct {
	Blocks []text.Block
	Took   string
	Since  int64
}

// Meta holds the facts of a Turn, each already in words: model, time, tokens, speed.
type Meta struct {
	Facts []string
	// ChatID and Last name the Turn's last Message, where a fork can end; Last 0 is none.
	ChatID string
	Last   int64
}

// RowKind chooses icon and verb of a Call.
type RowKind string

const (
	RowRead    RowKind = "Read"
	RowList    RowKind = "List"
	RowSearch  RowKind = "Search"
	RowEdit    RowKind = "Edit"
	RowWrite   RowKind = "Write"
	RowRun     RowKind = "Run"
	RowOutput  RowKind = "Output"
	RowSignal  RowKind = "Stop"
	RowOther   RowKind = "Call"
	RowSummary RowKind = "Fold"
	RowAgent   RowKind = "Agent"
	RowSkill   RowKind = "Skill"
	RowAsk     RowKind = "Ask"
	RowPlan    RowKind = "Plan"
	RowMake    RowKind = "Make"
	RowGive    RowKind = "Give"
)

// RowState chooses colour and icon of the result.
type RowState string

const (
	RowDone    RowState = ""
	RowRunning RowState = "is-run"
	RowFailed  RowState = "is-fail"
	RowWaits   RowState = "is-wait"
	RowSkipped RowState = "is-skip"
	// RowStopped is ended by the person; it is no failure.
	RowStopped RowState = "stopped"
)

// Row is one Call with its Result. Element id: k-STEP-N where N counts the Calls of the Step.
type Row struct {
	N     int
	Kind  RowKind
	State RowState
	// Path is a file; otherwise Target is a command, a pattern or words. In follows it softly ("in **/*.go").
	Path   string
	Target string
	In     string
	// Out is the result in a few words: "exit 2", "lines 1–96", "7 matches in 3 files".
	Out  string
	Adds int
	Dels int
	// Took is "2.1 s"; while it runs Since is its start in Unix milliseconds and the page counts.
	Took  string
	Since int64
	// Fetch is the address of the body, GET /chats/{id}/rows/{message}/{call}; "" for a row without one.
	Fetch string
	// Tail is the live output of a command that runs; it is shown at once.
	Tail *Tail
	// Ask is the approval that the Call waits for, Card what else it waits for or asks.
	Ask  *Approval
	Card *Card
	// Given is the file that the Call gave the user, shown below the row.
	Given []Attached
}

// Tail is the newest output of a running command. Facts stand below it; Stop is the address that ends the process, "" for none.
type Tail struct {
	Output string
	Facts  string
	Stop   string
}

// Approval asks whether a command may run. Agent is the title of the sub-agent that wants it, "" for the chat's own model; Tool is set
// for what is no command. PlanMode: it asks because of that. Post is POST /chats/{id}/approvals/{call}.
type Approval struct {
	Post      string
	Command   string
	Directory string
	Workspace string
	Agent     string
	Tool      string
	PlanMode  bool
	// Setup: the command sets up a workspace that is about to be made.
	Setup bool
	Asked
}

// Asked is what the engine says of an approval. Why is why a person is asked, Again what has changed since it was allowed before. Targets
// are the files that it is about, Diffs the change it would make, Sandbox what confines it. Offer are the rules that allowing it for the
// chat saves, or, if Always, for the workspace. Shown names all this.
type Asked struct {
	Why     string
	Again   string
	Targets []AskedTarget
	Diffs   []text.DiffFile
	// Cut: the diffs are shown in part.
	Cut     bool
	Sandbox string
	Offer   []string
	Always  bool
	Shown   string
}

// AskedTarget is where a path leads; Note says what is special about it, "" for nothing.
type AskedTarget struct {
	Path string
	Note string
}

// Body is what an opened row shows; the fields that are set are shown in this order.
type Body struct {
	Note string
	// Prose is Markdown: a plan, a report. Href leads on, with the words of HrefText.
	Prose []text.Block
	// Files are an image or a sound of the Result.
	Files    []Attached
	Href     string
	HrefText string
	Terminal text.HTML
	// Facts stand below: "412 lines, 38 KB left out".
	Facts  string
	Source []text.SourceLine
	Diffs  []text.DiffFile
}

// Rest is what stands below the transcript: an error, or why the Chat rests. The zero value is nothing.
type Rest struct {
	ChatID  string
	Failure *Failure
	// Reason is a rest_reason of engine.md 3.1; Queued how many messages wait. WithParent: a sub-agent that was stopped because its chat was.
	Reason     string
	Queued     int
	WithParent bool
	// Warnings say what the Turn goes on without, or went on without where it is Over.
	Warnings []string
	Over     bool
	// Damaged says why the chat does not go on; nil where all of it can be read.
	Damaged *Damaged
}

// Damaged is a chat of which a part cannot be read. Fork is the last message in front of that, where a copy can end; 0 for none.
type Damaged struct {
	Reason string
	Fork   int64
}

// Failure is the error that ended a Turn. ID is found in the log.
type Failure struct {
	Kind      chat.Kind
	Message   string
	Detail    string
	Model     string
	ID        string
	Retryable bool
}

// Dock is the phase line, the queue and the composer.
type Dock struct {
	ChatID string
	Phase  Phase
	Queue  []Queued
	// Held: the queue waits for a Retry or another Message.
	Held    bool
	Running bool
	// Queues: a Message waits for what is not over, be it a person's answer.
	Queues bool
	// Closed: no message can be written.
	Closed bool
	Models []Option
	Spaces []Option
	// Plan: the next turn plans only. CanPlan: that can be chosen.
	Plan    bool
	CanPlan bool
	Meter   Meter
	// Key makes the next Send idempotent; it is new in each rendering of the document, and the page makes a new one after each Send.
	Key string
}

// Phase is what the model does now. The zero value shows nothing.
type Phase struct {
	// Icon is i-run, i-clock, ...; "" shows nothing at all.
	Icon string
	Warn bool
	// Name is "Loading weights"; Text follows it: "41 tokens/s · step 6".
	Name string
	Text string
	// Since starts a counter, Until a countdown; Unix milliseconds, 0 for none.
	Since int64
	Until int64
	// Usual is "usually about 20 s".
	Usual string
}

// Queued is a message that waits. Element id: q-ID.
type Queued struct {
	ID     int64
	Text   string
	Urgent bool
	// Files are the names of its files.
	Files string
	// Editing shows its editor, which else the page asks for.
	Editing bool
}

// Meter is how full the window is, in tokens. Limit 0 shows no meter.
type Meter struct {
	Used  int64
	Limit int64
	Parts []MeterPart
	// CompactAt is the percentage at which the chat is compacted, 0 for never.
	CompactAt int
}

// MeterPart is a share of the window. Tone is p1, p2, p3 or p4.
type MeterPart struct {
	Name   string
	Tokens int64
	Tone   string
}

// Inspector is the right column of a chat.
type Inspector struct {
	ChatID string
	// Version is the chat's, so that what is read on demand is read again.
	Version   int64
	Changes   Changes
	Processes []Process
	// Unlisted says why the processes could not be listed.
	Unlisted string
	Context  Context
	// Servers are the MCP servers that the chat may have.
	Servers []MCPOption
}

// Changes are the files that differ from where the chat began.
type Changes struct {
	Files []text.DiffFile
	// More is how many changed files are not among Files.
	More int
	// Since is "13:58"; Message the id of the first user Message, which restores everything, 0 for nothing to restore.
	Since   string
	Message int64
	Problem string
	// None says why there can be no changes: "This chat has no workspace."
	None string
	// Repos is where to read what git knows, "" for nowhere.
	Repos string
	// Git is how many files differ from the last commit, nil where git does not know.
	Git *int
}

// count is what the tab says.
func (c Changes) count() int {
	if c.Git != nil {
		return *c.Git
	}
	return len(c.Files) + c.More
}

// Process is a command that a chat started. Element id: pr-ID.
type Process struct {
	ID      string
	Command string
	Running bool
	// Out is "exit 0", "signal: killed".
	Out    string
	Took   string
	Since  int64
	Failed bool
	Output string
}
