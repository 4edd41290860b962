package gallery

import (
	"time"

	"holdfast/engine/chat"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// ago gives a time in Unix milliseconds for the counters of the sample.
func ago(d time.Duration) int64 { return time.Now().Add(-d).UnixMilli() }

func prose(src string) view.Part { return view.Part{Prose: text.Prose(src)} }

func chatPage(p view.Page) view.ChatPage {
	c := view.Chat{ID: "1", Title: "Retry the tide feed with backoff", Model: "qwen3-coder:30b", Workspace: "tidewatch", Context: dirtyContext("1"), Older: true, Entries: entries(),
		Dock: view.Dock{ChatID: "1", Running: true, Key: "k1", Models: modelOptions(), Spaces: spaceOptions(), Meter: meter(),
			Phase: view.Phase{Icon: "i-run", Name: "Writing", Text: "41 tokens/s · step 6", Since: ago(108 * time.Second)},
			Queue: []view.Queued{{ID: 31, Text: "Then bump the version and write the changelog entry"}}}}
	changes := append(append(text.Diff("", fetchDiff), text.Diff("", testDiff)...), text.Diff("", pageDiff)...)
	return view.ChatPage{Page: p, Nav: nav("1"), Chat: c, Inspector: view.Inspector{ChatID: "1", Context: dirtyContext("1"),
		Changes: view.Changes{Files: changes, Since: "13:58", Message: 1},
		Processes: []view.Process{
			{ID: "p-3", Command: "go test ./feed/... -race -count=20 -v", Running: true, Since: ago(12 * time.Second), Output: testOutput},
			{ID: "p-2", Command: "make lint", Failed: true, Out: "exit 2", Took: "9.0 s", Output: "make: *** [Makefile:31: lint] Error 2"}}}}
}

func repos() view.Repos {
	diff := func(src string) text.DiffFile { return text.Diff("", src)[0] }
	return view.Repos{Repos: []view.Repo{
		{Branch: "tide-retry", Upstream: "origin/tide-retry", Ahead: 2, Behind: 1, Adds: 47, Dels: 11, Files: []view.RepoFile{
			{Path: "feed/fetch.go", State: "modified", Adds: 13, Dels: 5, Diff: diff(fetchDiff)},
			{Path: "feed/fetch_test.go", State: "added", Adds: 17, Diff: diff(testDiff)},
			{Path: "feed/retry.go", From: "feed/again.go", State: "renamed", Note: "Only the name is another."},
			{Path: "feed/old.go", State: "deleted", Dels: 6, Note: "Too large to be shown here."},
			{Path: "docs/tide.png", State: "modified", Note: "Binary file, not shown."},
			{Path: "notes/a rather long name of a file that nobody has told git about yet.txt", State: "untracked", Adds: 9, Note: "More lines differ than are shown here."},
			{Path: "go.mod", State: "conflicted", Adds: 4, Diff: diff(pageDiff)}},
			More: 12, Note: "The lines of 2 untracked files are not counted: they are too large."},
		{Path: "vendor-fork", Branch: "detached at 1f0c77aa"},
		{Path: "elsewhere", Note: "It is not looked at: its .git leads to a place outside the workspace that does not name this directory as its own."}}}
}

func entries() []view.Entry {
	return []view.Entry{
		{Ask: &view.Ask{ID: 1, ChatID: "1", Text: "What happens today when a station drops the connection?", Day: "Today, 20 November", Time: "13:58", ISO: "2026-11-20T13:58:00Z", Restore: 3}},
		{Step: &view.Step{N: 1, ChatID: "1", Parts: []view.Part{
			{Rows: []view.Row{
				{N: 0, Kind: view.RowRead, Path: "feed/fetch.go", Out: "lines 1–96", Took: "0.1 s", Fetch: "/gallery/row/source"},
				{N: 1, Kind: view.RowSearch, Target: "Fetch(", In: "in **/*.go", Out: "4 matches in 3 files", Took: "0.2 s", Fetch: "/gallery/row/search"}}}}}},
		{Step: &view.Step{N: 2, ChatID: "1", Parts: []view.Part{
			prose("The first error ends the call. `Fetch` in `feed/fetch.go:41` makes one request and hands any failure to its caller; the poll loop logs it and waits for the next full minute, and the station page shows an empty reading until then.")},
			Meta: &view.Meta{Facts: []string{"qwen3-coder:30b", "19 s", "8.2k in, 96 out", "44 tokens/s"}}}},
		{Ask: &view.Ask{ID: 6, ChatID: "1", Text: "The feed drops when a station reboots at night. Make the fetcher retry with backoff, keep the last good reading, and add a test that does not sleep.", Time: "14:06", ISO: "2026-11-20T14:06:00Z", Restore: 3,
			Refs: []view.Ref{{Icon: "i-file", Label: "feed/fetch.go"}, {Icon: "i-comment", Label: "main.go, lines 128 to 134"}}}},
		{Step: &view.Step{N: 3, ChatID: "1", Parts: []view.Part{
			{Reasoning: &view.Reasoning{Took: "14 s", Blocks: text.Prose("Two callers with different deadlines. If the retry sits in the loop the page never gets it. I should look at how the client is built before I decide.")}},
			prose("Two places call the fetcher, with different deadlines. I will read both before choosing where the retry belongs."),
			{Rows: []view.Row{
				{N: 0, Kind: view.RowRead, Path: "cmd/tided/main.go", Out: "lines 70–140", Took: "0.1 s", Fetch: "/gallery/row/source"},
				{N: 1, Kind: view.RowRead, Path: "internal/render/stationpage/live_reading_component.go", Out: "lines 1–88", Took: "0.1 s", Fetch: "/gallery/row/source"}}},
			{Advice: advisedAlready()}}}},
		{Step: &view.Step{N: 4, ChatID: "1", Parts: []view.Part{
			prose("The retry goes into `Fetch`, bounded by the caller’s context, and a reading that is not fresh says so."),
			{Rows: []view.Row{
				{N: 0, Kind: view.RowEdit, Path: "feed/fetch.go", Adds: 13, Dels: 5, Took: "0.1 s", Fetch: "/gallery/row/diff"},
				{N: 1, Kind: view.RowWrite, Path: "feed/fetch_test.go", Adds: 17, Out: "new", Took: "0.1 s", Fetch: "/gallery/row/new"}}}}}},
		{Step: &view.Step{N: 5, ChatID: "1", Joined: true, Parts: []view.Part{
			{Rows: []view.Row{
				{N: 0, Kind: view.RowRun, Target: "go vet ./...", Out: "exit 0", Took: "2.1 s", Fetch: "/gallery/row/none"},
				{N: 1, Kind: view.RowRun, State: view.RowRunning, Target: "go test ./feed/... -race -count=20 -v", Out: "running in background", Since: ago(12 * time.Second), Fetch: "/gallery/row/output",
					Tail: &view.Tail{Output: testOutput, Facts: "Process p-3 · 214 lines so far", Stop: "/gallery/stop"}},
				{N: 2, Kind: view.RowRun, State: view.RowWaits, Target: "git commit --all --message \"Retry the feed\"", Out: "waits for you",
					Ask: &view.Approval{Post: "/gallery/approve", Command: "git commit --all --message \"Say what happens when a station is away\"", Directory: "~/src/tidewatch", Workspace: "tidewatch"}}}}}}},
		{Step: &view.Step{N: 6, ChatID: "1", Draft: true, Parts: []view.Part{{Prose: text.Grow(answer[:600], 0)}}}},
	}
}

func restPage(p view.Page) view.ChatPage {
	c := chatPage(p)
	c.Nav = nav("4")
	c.Chat.ID, c.Chat.Title, c.Chat.Untrusted, c.Chat.Older = "4", "Import the 2019 gauge archive", true, false
	c.Chat.Entries = append(c.Chat.Entries[:3:3],
		view.Entry{Mark: &view.Mark{ID: 5, Icon: "i-fold", Text: "Compacted: 23.1k to 3.8k tokens, 14:31"}},
		view.Entry{Ask: &view.Ask{ID: 6, ChatID: "4", Text: "And now in detail, with the code of the wait.", Time: "14:32", ISO: "2026-11-20T14:32:00Z"}},
		view.Entry{Step: &view.Step{N: 7, ChatID: "4", Parts: []view.Part{prose(answer)}, Note: "The connection broke off here"}})
	c.Chat.Rest = view.Rest{ChatID: "4", Failure: &view.Failure{Kind: chat.KindUnreachable, Message: "The model server at 127.0.0.1:11434 does not answer.", Detail: "Tried 25 times over 18 minutes.", ID: "0197c2"}}
	c.Chat.Dock = view.Dock{ChatID: "4", Key: "k2", Models: modelOptions(), Spaces: spaceOptions(), Meter: meter()}
	c.Inspector = view.Inspector{ChatID: "4"}
	return c
}

func damagedPage(p view.Page) view.ChatPage {
	c := restPage(p)
	c.Chat.Damaged = true
	c.Chat.Entries = append(c.Chat.Entries[:3:3],
		view.Entry{Mark: &view.Mark{ID: 5, Icon: "i-alert", Text: "Something is missing here: it cannot be read", Gap: true}},
		view.Entry{Ask: &view.Ask{ID: 6, ChatID: "4", Text: "And now in detail, with the code of the wait.", Time: "14:32", ISO: "2026-11-20T14:32:00Z", Fixed: true}},
		view.Entry{Step: &view.Step{N: 7, ChatID: "4", Parts: []view.Part{prose(answer)}}})
	c.Chat.Rest = view.Rest{ChatID: "4", Damaged: &view.Damaged{Reason: "the checksum does not fit", Fork: 4}}
	c.Chat.Dock = view.Dock{ChatID: "4", Key: "k2", Closed: true, Models: modelOptions(), Spaces: spaceOptions(), Meter: meter()}
	return c
}

func newChat(p view.Page, spaces bool) view.NewChatPage {
	n := view.NewChatPage{Page: p, Nav: nav(""), Models: modelOptions(), Key: "k3", CanAdd: true}
	if spaces {
		n.Spaces, n.Folder = spaceOptions(), "tidewatch"
	} else {
		n.Nav.List = view.ChatList{}
		n.Demo = true
	}
	return n
}
