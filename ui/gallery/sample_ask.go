package gallery

import (
	"time"

	"github.com/a-h/templ"

	"holdfast/ui/text"
	"holdfast/ui/view"
)

const samplePlan = `# Retry the tide feed

The first error ends the call today. A retry belongs into ` + "`Fetch`" + `, where both callers get it.

1. ` + "`feed/fetch.go`" + `: retry with backoff, bounded by the caller’s context.
2. ` + "`feed/last.go`" + `, new: keep the last good reading and its age.
3. ` + "`feed/fetch_test.go`" + `: a clock that the test moves, so that nothing sleeps.

Checked by ` + "`go test ./feed/... -race -count=20`" + `.`

// asked are the cards that end a turn, and the one that waits for a program.
func asked() []specimen {
	step := func(r view.Row) []templ.Component {
		return []templ.Component{view.StepItem(view.Step{N: 1, Parts: []view.Part{{Rows: []view.Row{r}}}})}
	}
	hours := view.Question{Header: "Age", Text: "How long is a reading good enough to show?", Options: []view.QuestionOption{
		{Label: "6 hours", Note: "One tide; what the harbour office uses"}, {Label: "1 day"}}}
	pages := view.Question{Header: "Pages", Text: "Which pages show the age of a reading?", Multiple: true, Options: []view.QuestionOption{
		{Label: "Station page"}, {Label: "Overview", Note: "Changes a layout that is printed, too"}, {Label: "Feed for other sites"}}}
	row := view.Row{Kind: view.RowAsk, State: view.RowWaits, Target: hours.Text, Out: "waits for you", Took: "0.1 s"}
	one, many := row, row
	one.Card = &view.Card{Question: &view.Questions{Post: "/gallery/answer", List: []view.Question{hours}}}
	many.In, many.Card = "and 1 more question", &view.Card{Question: &view.Questions{Post: "/gallery/answer", List: []view.Question{hours, pages}}}
	plan := view.Row{Kind: view.RowPlan, State: view.RowWaits, Path: ".holdfast/plans/PLAN-0197c2f4.md", Out: "waits for you", Card: &view.Card{
		Plan: &view.Plan{Post: "/gallery/answer", Path: ".holdfast/plans/PLAN-0197c2f4.md", Blocks: text.Prose(samplePlan)}}}
	client := view.Row{Kind: view.RowOther, State: view.RowWaits, Target: "deploy", In: `{"to":"pier"}`, Out: "waits for its program", Card: &view.Card{
		Client: &view.ClientCall{Tool: "deploy", Args: `{"to": "pier"}`, Until: time.Now().Add(4 * time.Minute).UnixMilli(), Interrupt: "/gallery/stop"}}}
	answered := view.Row{Kind: view.RowAsk, Target: hours.Text, Out: "shown to you", Took: "0.1 s", Fetch: "/gallery/row/none"}
	return []specimen{{"One question: a press answers it", "", step(one)}, {"Several questions", "", step(many)}, {"A plan", "", step(plan)},
		{"A call of the chat’s own program", "", step(client)}, {"Answered", "", step(answered)}}
}

// agents are the rows and the panel of sub-agents.
func agents() []specimen {
	rows := []view.Row{
		{Kind: view.RowAgent, Target: "Update the docs", Out: "started", Took: "0.1 s", Fetch: "/gallery/row/none"},
		{Kind: view.RowAgent, Target: "Find all callers of Fetch", In: "only reads", Out: "started", Took: "0.1 s", Fetch: "/gallery/row/none"},
		{Kind: view.RowAgent, State: view.RowRunning, Target: "Update the docs", In: "wait for the report", Since: ago(42 * time.Second)},
		{Kind: view.RowAgent, Target: "Find all callers of Fetch", In: "wait for the report", Out: "reported", Took: "31 s", Fetch: "/gallery/row/none"},
		{Kind: view.RowAgent, State: view.RowFailed, Target: "Measure", In: "wait for the report", Out: "The model server is busy", Took: "2 m 04 s", Fetch: "/gallery/row/refused"}}
	for i := range rows {
		rows[i].N = i
	}
	panel := view.Agents{List: []view.Agent{
		{ID: "21", Title: "Find all callers of Fetch", Kind: "only reads", State: view.ChatRunning, Out: "running", Since: ago(31 * time.Second)},
		{ID: "22", Title: "Update the docs", State: view.ChatWaiting, Out: "waits for you", Since: ago(42 * time.Second), Cards: []view.Approval{{Post: "/gallery/approve",
			Command: "git -C docs commit --all --message \"Say what happens when a station is away\"", Directory: "~/src/tidewatch", Workspace: "tidewatch", Agent: "Update the docs"}}}}}
	nested := view.ChatList{Groups: []view.ChatGroup{{Name: "Today", Rows: []view.ChatRow{
		{ID: "1", Title: "Retry the tide feed with backoff", When: "now", State: view.ChatRunning, Here: true},
		{ID: "21", Title: "Find all callers of Fetch", When: "now", State: view.ChatRunning, Sub: true},
		{ID: "22", Title: "Update the docs", Summary: "Asks to run a command", When: "14:07", State: view.ChatWaiting, Sub: true},
		{ID: "3", Title: "Which tide table?", Summary: "Asks a question", When: "13:20", State: view.ChatWaiting}}}}}
	return []specimen{{"Rows", "", []templ.Component{view.StepItem(view.Step{N: 2, Parts: []view.Part{{Rows: rows}}})}},
		{"At work, one asks", "", []templ.Component{view.AgentsPanel(panel)}}, {"In the list of chats", "is-rail", []templ.Component{view.ChatsList(nested)}}}
}
