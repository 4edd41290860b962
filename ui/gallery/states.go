package gallery

import (
	"context"
	"io"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/chat"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// section is a heading with its specimens; Wide ones take the whole width.
type section struct {
	Title string
	List  []specimen
}

func sections() []section {
	return []section{
		{"Tool rows", []specimen{{"All verbs and outcomes", "", []templ.Component{view.StepItem(view.Step{N: 1, Parts: []view.Part{{Rows: rows()}}})}}}},
		{"Waits for a person", approvals()},
		{"Questions and plans", asked()},
		{"A workspace that is made", []specimen{{"Rows of the call", "", []templ.Component{view.StepItem(view.Step{N: 1, Parts: []view.Part{{Rows: makeRows()}}})}}, {"What a chat says of it", "is-flat", spaceNotes()}}},
		{"Sub-agents", agents()},
		{"Advisor", []specimen{{"Consulting, answering, answered, folded by the reader, limit reached, failed, not asked, stopped", "", advices()}}},
		{"Turns", turns()},
		{"Phases", []specimen{{"One line above the composer", "", phases()}}},
		{"Markers", []specimen{{"Rules across the transcript", "", []templ.Component{
			view.MarkItem(view.Mark{ID: 1, Icon: "i-fold", Text: "Compacted: 23.1k to 3.8k tokens, 14:31"}),
			view.MarkItem(view.Mark{ID: 2, Icon: "i-skip", Text: "Context cleared; the model starts fresh below"}),
			view.MarkItem(view.Mark{ID: 3, Icon: "i-restore", Text: "Holdfast was restarted here"}),
			view.MarkItem(view.Mark{ID: 4, Icon: "i-alert", Text: "Something is missing here: it cannot be read", Gap: true}),
			view.OlderMark("1", true)}}}},
		{"Errors, each with its next step", failures()},
		{"Why a chat rests", rests()},
		{"Toasts", []specimen{{"A thing just done, with undo", "", []templ.Component{
			view.Toast("t1", "ok", "Restored 3 files; 1 was changed by somebody else and left alone", "/gallery/undo"), view.Toast("t2", "danger", "Not saved: another tab changed it first", "")}}}},
		{"Lists of chats", lists()},
		{"Archive", []specimen{{"Empty", "", []templ.Component{view.ArchiveList(view.Archived{})}}, {"Failed", "", []templ.Component{view.ArchiveList(view.Archived{Problem: "The store was busy for 5 s. Nothing is lost."})}}, {"Chats", "", []templ.Component{view.ArchiveList(archived())}}}},
		{"Composer", composers()},
		{"Files", attachments()},
		{"Progress", []specimen{{"Pull: running, failed", "", []templ.Component{view.PullList(pulls())}}}},
		{"Forms", []specimen{{"Errors", "", []templ.Component{view.FormError("e1", "The folder /home/ingrid/src does not exist.")}}, {"A new token", "", []templ.Component{view.FreshToken("hf_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG")}},
			{"A new sign-in link", "", []templ.Component{view.FreshLink(view.SignInLink{Name: "Jonas", URL: "http://127.0.0.1:8420/login?code=0123456789abcdefghijklmnopqrstuvwxyzABCDEFG", Until: "14:16"})}},
			{"A first password", "", []templ.Component{view.OwnPassword(false, false, "")}}, {"A password that is set, and one that was refused", "", []templ.Component{view.OwnPassword(true, true, ""), view.OwnPassword(true, false, "That is not your present password.")}},
			{"Signed in nowhere", "", []templ.Component{view.OwnSessions(nil)}}}},
		{"Inspector", inspectors()},
		{"Context", contexts()},
		{"Settings without anything", []specimen{{"Workspaces", "", []templ.Component{view.WorkspacesList(nil, true)}}, {"Tokens", "", []templ.Component{view.TokensList(nil)}},
			{"Models", "", []templ.Component{view.ConfigsSection(view.ModelsPage{}), view.InstalledSection(view.ModelsPage{})}},
			{"Model server away", "", []templ.Component{view.ServerSection(view.ModelsPage{Server: view.Server{Address: "127.0.0.1:11434", Problem: "The model server at 127.0.0.1:11434 does not answer: nothing listens there. Start it, or correct the address."}})}}}},
		{"Usage", []specimen{{"A limit: room left, reached", "", []templ.Component{view.AllowanceSection(*allowance(false)), view.AllowanceSection(*allowance(true))}}}},
		{"Model calls", modelCalls()},
		{"System", systems()},
		{"Audit", auditChecks()},
		{"Outbound", outbounds()},
		{"Notifications", notifications()},
		{"Turns", turnForms()},
		{"Opened rows", []specimen{{"Source, difference, output, words", "", []templ.Component{view.RowBody(bodies()["source"]), view.RowBody(bodies()["diffs"]), view.RowBody(bodies()["output"]), view.RowBody(bodies()["lint"]), view.RowBody(bodies()["image"]), view.RowBody(bodies()["refused"])}}}},
	}
}

func rows() []view.Row {
	list := []view.Row{
		{Kind: view.RowRead, Path: "feed/fetch.go", Out: "lines 1–96", Took: "0.1 s", Fetch: "/gallery/row/source"},
		{Kind: view.RowRead, State: view.RowRunning, Path: "internal/render/stationpage/testdata/golden/live_reading_component_when_station_is_away.html", Out: "running", Since: ago(3 * time.Second)},
		{Kind: view.RowRead, State: view.RowFailed, Path: "assets/logo.png", Out: "a PNG, 48 KB", Took: "0.1 s", Fetch: "/gallery/row/refused"},
		{Kind: view.RowGive, Path: "out/tides.csv", Out: "given to you", Took: "0.1 s", Fetch: "/gallery/row/none", Given: []view.Attached{{ID: "g1", Name: "tides.csv", URL: "/gallery/picture.png", Size: "4.1 KB"}}},
		{Kind: view.RowGive, Path: "out/gauge.png", Out: "given to you", Took: "0.1 s", Fetch: "/gallery/row/none", Given: []view.Attached{{ID: "g2", Name: "gauge.png", URL: "/gallery/picture.png", Size: "12 KB", Picture: true}}},
		{Kind: view.RowSkill, Target: "release-notes", Out: "read", Took: "0.1 s", Fetch: "/gallery/row/none"},
		{Kind: view.RowSkill, State: view.RowFailed, Target: "release-notes", In: "../secret", Out: ".. is refused", Took: "0.1 s", Fetch: "/gallery/row/refused"},
		{Kind: view.RowList, Path: "feed/", Out: "6 entries", Took: "0.1 s", Fetch: "/gallery/row/list"},
		{Kind: view.RowSearch, Target: `temporary\(err\)`, Out: "nothing found", Took: "0.3 s"},
		{Kind: view.RowSearch, Target: "Fetch(", In: "in **/*.go", Out: "4 matches in 3 files", Took: "0.2 s", Fetch: "/gallery/row/search"},
		{Kind: view.RowEdit, Path: "feed/fetch.go", Adds: 13, Dels: 5, Took: "0.1 s", Fetch: "/gallery/row/diff"},
		{Kind: view.RowEdit, Target: "2 files", Adds: 30, Dels: 5, Took: "0.1 s", Fetch: "/gallery/row/diffs"},
		{Kind: view.RowEdit, State: view.RowFailed, Path: "feed/fetch.go", Out: "changed since read", Took: "0.1 s", Fetch: "/gallery/row/refused"},
		{Kind: view.RowWrite, Path: "feed/backoff.go", Adds: 21, Out: "new", Took: "0.1 s", Fetch: "/gallery/row/new"},
		{Kind: view.RowRun, Target: "go build ./...", Out: "exit 0", Took: "4.8 s", Fetch: "/gallery/row/none"},
		{Kind: view.RowRun, State: view.RowRunning, Target: "go test ./... -run TestFetchKeepsLastGoodReadingWhenTheStationIsAwayForMoreThanADay -count=200", Out: "running", Since: ago(72 * time.Second), Fetch: "/gallery/row/output",
			Tail: &view.Tail{Output: testOutput, Facts: "Process p-3 · 214 lines so far", Stop: "/gallery/stop"}},
		{Kind: view.RowRun, State: view.RowFailed, Target: "make lint", Out: "exit 2", Took: "9.0 s", Fetch: "/gallery/row/lint"},
		{Kind: view.RowRun, State: view.RowRunning, Target: "npm run dev", Out: "in background", Since: ago(18 * time.Minute)},
		{Kind: view.RowRun, State: view.RowWaits, Target: "sleep 60", Out: "still running after 10 s", Took: "10 s", Fetch: "/gallery/row/none"},
		{Kind: view.RowRun, State: view.RowWaits, Target: "rm -r build", Out: "waits for you"},
		{Kind: view.RowRun, State: view.RowFailed, Target: "rm -rf /", Out: "denied by you"},
		{Kind: view.RowRun, State: view.RowSkipped, Target: "git push", Out: "skipped"},
		{Kind: view.RowRun, State: view.RowStopped, Target: "go test ./...", Out: "stopped by you", Took: "8 s", Fetch: "/gallery/row/output"},
		{Kind: view.RowOutput, Target: "p-3", In: "go test ./feed/...", Out: "still running", Took: "10 s", Fetch: "/gallery/row/output"},
		{Kind: view.RowOutput, Target: "processes", Out: "2 processes", Took: "0.0 s", Fetch: "/gallery/row/list"},
		{Kind: view.RowSignal, Target: "p-3", In: "go test ./feed/...", Out: "terminated", Took: "0.2 s"},
		{Kind: view.RowOther, State: view.RowFailed, Target: "make_coffee", Out: "no such tool", Took: "0.0 s", Fetch: "/gallery/row/refused"},
		{Kind: view.RowSummary, Target: "23.1k to 3.8k tokens", Out: "kept what is open", Took: "12 s", Fetch: "/gallery/row/refused"},
	}
	for i := range list {
		list[i].N = i
	}
	return list
}

func turns() []specimen {
	long := "A long question. " + "It keeps to the measure, breaks where it must, and shows_a_name_that_is_far_too_long_for_one_line_but_has_no_place_to_break_at_all_because_someone_wrote_it_so.\n\nSecond paragraph."
	return []specimen{
		{"Question, reasoning, prose, facts", "", []templ.Component{
			view.AskItem(view.Ask{ID: 1, Text: long, Day: "Today, 20 November", Time: "14:06", ISO: "2026-11-20T14:06:00Z", Restore: 3, ChatID: "1", Refs: []view.Ref{{Icon: "i-file", Label: "feed/fetch.go"}}}),
			view.StepItem(view.Step{N: 1, Parts: []view.Part{{Reasoning: &view.Reasoning{Took: "14 s", Blocks: text.Prose("Two callers with different deadlines.")}}, prose(answer)},
				Meta: &view.Meta{Facts: []string{"qwen3-coder:30b", "19 s", "8.2k in, 96 out", "44 tokens/s"}}})}},
		{"Draft: reasoning, text, open code", "", []templ.Component{
			view.StepItem(view.Step{N: 2, Draft: true, Parts: []view.Part{{Reasoning: &view.Reasoning{Since: ago(4 * time.Second), Blocks: text.Grow("If the retry sits in the loop", 0)}}}}),
			view.StepItem(view.Step{N: 3, Draft: true, Parts: []view.Part{{Prose: text.Grow("The page has a deadline, the poll", 0)}}}),
			view.StepItem(view.Step{N: 4, Draft: true, Parts: []view.Part{{Prose: text.Grow("So:\n\n```go\nfunc (b *backoff) wait(ctx context.Con", 0)}}})}},
		{"Markdown", "", []templ.Component{view.StepItem(view.Step{N: 5, Parts: []view.Part{prose(markdown)}})}},
		{"A message that is edited", "", []templ.Component{
			view.AskItem(view.Ask{ID: 9, ChatID: "1", Text: "Make the fetcher retry.", Time: "14:06", ISO: "2026-11-20T14:06:00Z"}), view.Editor(view.Edit{ID: 9, ChatID: "1", Text: "Make the fetcher retry.", Key: "k", Queued: 2})}},
		{"What a reply names", "", []templ.Component{view.StepItem(view.Step{N: 7, Parts: []view.Part{prose("The tide tables of the harbour office say so."), {Refs: []view.Ref{
			{Icon: "i-compass", Label: "Tide tables 2026", URL: "/gallery/row/none"}, {Icon: "i-layers", Label: "AGENTS.md, cut"}, {Icon: "i-wrench", Label: "review"}}}}})}},
		{"Cut", "", []templ.Component{view.StepItem(view.Step{N: 6, Parts: []view.Part{prose("The fetcher now retries ref")}, Note: "Interrupted by you"})}},
	}
}

const markdown = "# Heading\n\nText with **weight**, *stress*, ~~struck~~, `code` and https://example.org/a/rather/long/address/that/has/to/break/somewhere/because/it/does/not/fit.\n\n" +
	"## Smaller\n\n1. First\n2. Second\n   - inner\n   - other\n\n     ```sh\n     go test ./...\n     ```\n\n3. Third\n\n- [x] done\n- [ ] open\n\n> A quote\n> of two lines.\n\n" +
	"| Station | Level | Trend | Note that is long enough to be wider than a telephone |\n|---|---|---|---|\n| Pier | 2.41 | rising | nothing to say about it, but at length, so that it scrolls |\n\n" +
	"<script>alert(1)</script> is text, and so is <b>this</b>.\n\n![a picture](https://example.org/a.png)\n\n---\n\n```python\ndef level(station):\n    \"\"\"The last reading.\"\"\"\n    return station.readings[-1]  # newest\n```"

func phases() []templ.Component {
	return []templ.Component{
		view.PhaseLine(view.Phase{Icon: "i-clock", Name: "Waiting for the model", Text: "1 turn ahead"}),
		view.PhaseLine(view.Phase{Icon: "i-run", Name: "Loading weights", Since: ago(12 * time.Second), Usual: "usually about 20 s"}),
		view.PhaseLine(view.Phase{Icon: "i-run", Name: "Reading your prompt", Text: "12.4k tokens", Since: ago(14 * time.Second), Usual: "usually about 20 s"}),
		view.PhaseLine(view.Phase{Icon: "i-run", Name: "Thinking", Since: ago(9 * time.Second)}),
		view.PhaseLine(view.Phase{Icon: "i-run", Name: "Writing", Text: "41 tokens/s · step 6", Since: ago(108 * time.Second)}),
		view.PhaseLine(view.Phase{Icon: "i-run", Name: "Running 2 tools", Since: ago(12 * time.Second)}),
		view.PhaseLine(view.Phase{Icon: "i-run", Name: "Compacting", Text: "23.1k tokens"}),
		view.PhaseLine(view.Phase{Icon: "i-clock", Warn: true, Name: "Retrying", Text: "attempt 3 of 25 · The model server is busy.", Until: ago(-8 * time.Second)}),
		view.PhaseLine(view.Phase{Icon: "i-wait", Warn: true, Name: "Waits for you", Text: "a command asks for your decision"}),
	}
}

func failures() []specimen {
	list := []view.Failure{
		{Kind: chat.KindContextFull, Message: "The conversation no longer fits the model's window.", Detail: "Largest: cmd/tided/main.go 9.1k, test output 7.7k, system 4.6k of 32k tokens."},
		{Kind: chat.KindNoTools, Message: "qwen3:4b cannot call tools. Choose another model or switch tools off."},
		{Kind: chat.KindModelMissing, Message: "gpt-oss:120b is not on the model server. Pull or import it."},
		{Kind: chat.KindOutOfMemory, Message: "gpt-oss:120b does not fit into memory with this window. Choose a smaller model or window.", Detail: "It needs 67 GB, 24 GB are there."},
		{Kind: chat.KindModelLoading, Message: "gpt-oss:120b did not finish loading."},
		{Kind: chat.KindBusy, Message: "The model server is busy."},
		{Kind: chat.KindUnreachable, Message: "The model server at 127.0.0.1:11434 does not answer.", Detail: "Tried 25 times over 18 minutes."},
		{Kind: chat.KindSlowStart, Message: "The model did not start to answer in time."},
		{Kind: chat.KindSilent, Message: "The model stopped answering in the middle."},
		{Kind: chat.KindStreamCut, Message: "The connection to the model broke off."},
		{Kind: chat.KindAuth, Message: "The model server refused access."},
		{Kind: chat.KindConfig, Message: "The model server refused the request.", Detail: "invalid option: num_ctx"},
		{Kind: chat.KindServer, Message: "The model server failed.", Detail: "llama runner process has terminated: exit status 2"},
		{Kind: chat.KindLoop, Message: "The model repeated itself.", Detail: "go test ./feed/... gave the same result 5 times."},
		{Kind: chat.KindEmptyReply, Message: "The model returned nothing twice."},
		{Kind: chat.KindInternal, Message: "An internal fault stopped this turn."},
		{Kind: chat.KindGeneric, Message: "The turn failed."},
	}
	var out []templ.Component
	for _, f := range list {
		f.ID = "0197c2"
		out = append(out, view.RestNote(view.Rest{ChatID: "1", Failure: &f}))
	}
	out = append(out, view.RestNote(view.Rest{ChatID: "1", Failure: &view.Failure{Kind: chat.KindStreamCut, Message: "The connection to the model broke off."}, Queued: 2}))
	return []specimen{{"All kinds", "is-flat", out}}
}

func rests() []specimen {
	var out []templ.Component
	for _, r := range []string{"interrupted", "may_have_run", "cut_twice", "step_cap", "length", "archived"} {
		out = append(out, view.RestNote(view.Rest{ChatID: "1", Reason: r}))
	}
	out = append(out, view.RestNote(view.Rest{ChatID: "1", Reason: "interrupted", Queued: 1}), view.RestNote(view.Rest{ChatID: "1", Reason: "interrupted", WithParent: true}),
		view.RestNote(view.Rest{ChatID: "1", Warnings: []string{"The workspace's instructions and skills could not be read in time. This turn goes on without the newest ones.",
			"MCP server tides: it cannot be reached. This turn goes on without it."}}),
		view.RestNote(view.Rest{ChatID: "1", Over: true, Warnings: []string{"MCP server tides: it cannot be reached. This turn goes on without it."}}))
	out = append(out, view.RestNote(view.Rest{ChatID: "1", Damaged: &view.Damaged{Reason: "the checksum does not fit", Fork: 12}}),
		view.RestNote(view.Rest{ChatID: "1", Reason: "archived", Damaged: &view.Damaged{Reason: "the chain is broken between message 0 and this one"}}))
	return []specimen{{"All reasons", "is-flat", out}}
}

func lists() []specimen {
	hit := []view.ChatRow{{ID: "1", Title: "Import tide tables of 2026", Summary: "… the tide tables of the pier …", When: "Mon", State: view.ChatDone, Query: "tide"}}
	return []specimen{
		{"Rows", "is-rail", []templ.Component{view.ChatsList(nav("1").List)}},
		{"A damaged one", "is-rail", []templ.Component{view.ChatsList(view.ChatList{Groups: []view.ChatGroup{{Name: "Today", Rows: []view.ChatRow{{ID: "91", Title: "Import the 2019 gauge archive", Summary: "A part of it cannot be read", When: "14:31", State: view.ChatDamaged}}}}})}},
		{"Empty", "is-rail", []templ.Component{view.ChatsList(view.ChatList{})}},
		{"Failed", "is-rail", []templ.Component{view.ChatsList(view.ChatList{Problem: "The store was busy for 5 s. Nothing is lost."})}},
		{"Loading", "is-rail", []templ.Component{view.ChatsLoading()}},
		{"Search", "is-rail", []templ.Component{view.SearchHits(view.Hits{Query: "tide", Rows: hit, Searched: 214})}},
		{"No hits", "is-rail", []templ.Component{view.SearchHits(view.Hits{Query: "barometer", Searched: 214})}},
		{"Model server", "is-rail", []templ.Component{
			view.ServerLine(note()), view.ServerLine(view.ServerNote{State: "ok", Text: "Model server ready", Out: "called registry.example.org and 2 more today", Linked: true}), view.ServerLine(view.ServerNote{State: "warn", Text: "Model server away since 09:12"}), view.ServerLine(view.ServerNote{State: "danger", Text: "The disk is full"})}},
	}
}

func composers() []specimen {
	base := view.Dock{ChatID: "1", Key: "k", Models: modelOptions(), Spaces: spaceOptions(), Meter: meter()}
	busy := base
	busy.Running = true
	busy.Phase = view.Phase{Icon: "i-run", Name: "Writing", Text: "41 tokens/s", Since: ago(20 * time.Second)}
	busy.Queue = []view.Queued{{ID: 1, Text: "Then bump the version and write the changelog entry"}, {ID: 2, Text: "And a very long message that does not fit into one line of the queue however wide the window may be, so it is cut at its end"}}
	editing := busy
	editing.Queue = []view.Queued{busy.Queue[0], {ID: 3, Text: "Then run the linter\nand fix what it finds", Editing: true}, busy.Queue[1]}
	held := busy
	held.Held, held.Running, held.Phase = true, false, view.Phase{}
	held.Queue = busy.Queue[:1]
	planning := base
	planning.CanPlan, planning.Plan = true, true
	planning.Phase = view.Phase{Icon: "i-wait", Warn: true, Name: "Waits for you", Text: "answer the plan above, or write below"}
	closed := base
	closed.Closed, closed.Held, closed.Queue = true, true, busy.Queue[:1]
	bare := view.Dock{ChatID: "1", Key: "k", Models: modelOptions()[:1]}
	return []specimen{{"Ready", "is-bare", []templ.Component{view.ChatDock(base)}}, {"In plan mode", "is-bare", []templ.Component{view.ChatDock(planning)}}, {"Running, with a queue", "is-bare", []templ.Component{view.ChatDock(busy)}},
		{"Editing what waits", "is-bare", []templ.Component{view.ChatDock(editing)}}, {"Held queue", "is-bare", []templ.Component{view.ChatDock(held)}}, {"Closed, since a part of the chat cannot be read", "is-bare", []templ.Component{view.ChatDock(closed)}}, {"Without a workspace, window unknown", "is-bare", []templ.Component{view.ChatDock(bare)}}}
}

func attachments() []specimen {
	photo := view.Attached{ID: "1", Name: "gauge-photo.jpg", URL: "/gallery/picture.png", Size: "412 KB", Picture: true}
	notes := view.Attached{ID: "2", Name: "what-the-harbour-master-said-about-the-gauge-at-the-old-pier.txt", URL: "/gallery/picture.png", Size: "2.1 KB"}
	unseen, gone, long, lost := photo, notes, notes, photo
	unseen.ID, unseen.Note = "3", "not seen by qwen3-coder:30b"
	gone.ID, gone.Gone = "4", true
	long.ID, long.Name, long.Size, long.Note = "5", "tided.log", "1.9 MB", "its beginning and end for the model"
	lost.ID, lost.Gone = "6", true
	sent := view.Ask{ID: 40, ChatID: "1", Text: "What does this gauge show?", Time: "14:06", ISO: "2026-11-20T14:06:00Z", Files: []view.Attached{photo, unseen, notes, long, gone, lost},
		Refs: []view.Ref{{Icon: "i-file", Label: "feed/fetch.go, lines 41 to 42", Source: text.Source("fetch.go", "41\tfunc Fetch(ctx context.Context) (Reading, error) {\n42\t\treturn get(ctx)")}}}
	alone := view.Ask{ID: 41, ChatID: "1", Time: "14:07", ISO: "2026-11-20T14:07:00Z", Files: []view.Attached{photo}}
	return []specimen{{"In the composer", "", []templ.Component{view.Attachments([]view.Attached{photo, notes}, []string{"feed/fetch.go"}, "")}},
		{"To a model without eyes", "", []templ.Component{view.Attachments([]view.Attached{photo}, nil, "qwen3-coder:30b cannot see images")}},
		{"Not taken", "", []templ.Component{refusedFiles()}},
		{"Named with @", "", []templ.Component{view.PathChoices([]string{"feed/fetch.go", "internal/render/stationpage/testdata/golden/live_reading_component_when_station_is_away.html"}, ""), view.PathChoices(nil, "")}},
		{"Sent", "", []templ.Component{view.AskItem(sent), view.AskItem(alone)}}}
}

func refusedFiles() templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, `<ul class="refs" aria-label="Attached files">`); err != nil {
			return err
		}
		if err := view.FileRefused("harbour.mov", "Larger than 10 MiB.").Render(ctx, w); err != nil {
			return err
		}
		_, err := io.WriteString(w, "</ul>")
		return err
	})
}

func inspectors() []specimen {
	full := chatPage(view.Page{}).Inspector
	return []specimen{
		{"Changes", "is-rail", []templ.Component{view.InspectorPanel(full)}},
		{"MCP servers of a chat", "is-rail", []templ.Component{view.ChatServers(view.Inspector{ChatID: "1", Servers: chatServers()})}},
		{"No changes", "is-rail", []templ.Component{view.InspectorPanel(view.Inspector{})}},
		{"Processes away", "is-rail", []templ.Component{view.Unlisted("The workspace is unreachable: its agent has been away for 9 s. Start the agent beside its files, or try again when it is back.")}},
		{"Changes away", "is-rail", []templ.Component{view.InspectorPanel(view.Inspector{Changes: view.Changes{Problem: "The folder ~/src/tidewatch is not there."}})}},
		{"Repositories", "is-rail", []templ.Component{view.RepoList(repos())}},
		{"Repository, nothing changed", "is-rail", []templ.Component{view.RepoList(view.Repos{Repos: []view.Repo{{Branch: "main"}}})}},
		{"No repository", "is-rail", []templ.Component{view.RepoList(view.Repos{})}},
		{"No git", "is-rail", []templ.Component{view.RepoList(view.Repos{Problem: "git is not installed on the machine that has the files. Install it there; nothing else is needed."})}},
		{"Run log", "is-rail", []templ.Component{view.TurnLogList(turnLog())}},
		{"Run log, nothing yet", "is-rail", []templ.Component{view.TurnLogList(view.TurnLog{})}},
		{"Run log off", "is-rail", []templ.Component{view.TurnLogList(view.TurnLog{Off: true})}},
		{"Run log away", "is-rail", []templ.Component{view.TurnLogList(view.TurnLog{Problem: "The store is being closed."})}},
	}
}
