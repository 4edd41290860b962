package gallery

import (
	"github.com/a-h/templ"

	"holdfast/engine/chat"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

const hookDiff = "--- .git/hooks/pre-commit\n+++ .git/hooks/pre-commit\n@@ -0,0 +1,2 @@\n+#!/bin/sh\n+exec go vet ./...\n"

// approvals are the permission cards, and the rows of what became of them.
func approvals() []specimen {
	full := view.SandboxFact(chat.Sandbox{Level: chat.SandboxFull, Profile: chat.ProfileWorkspace})
	none := view.SandboxFact(chat.NoSandbox())
	partial := view.SandboxFact(chat.Sandbox{Level: chat.SandboxPartial, Profile: chat.ProfileWorkspace, Open: []string{"UDP", "reading /proc"}})
	asked := view.Approval{Post: "/gallery/approve", Command: "rm -r build && make", Directory: "~/src/tidewatch", Workspace: "tidewatch", Asked: view.Asked{
		Why: "Nothing confines the command here.", Sandbox: none, Offer: []string{"allow execute rm -r build", "allow execute make"}, Always: true, Shown: "1"}}
	ruled := asked
	ruled.Command, ruled.Asked = "git push origin main > ../push.log", view.Asked{Why: "A rule of the site says so: ask execute git push *.", Sandbox: partial,
		Targets: []view.AskedTarget{{Path: "/home/ada/src/push.log", Note: "outside of the workspace"}}, Shown: "1"}
	write := view.Approval{Post: "/gallery/approve", Tool: "write_file", Directory: "~/src/tidewatch", Workspace: "tidewatch", Asked: view.Asked{
		Why:     ".git/hooks/pre-commit decides what runs or what models are told, so a person is always asked.",
		Targets: []view.AskedTarget{{Path: ".git/hooks/pre-commit", Note: "protected"}}, Diffs: text.Diff(".git/hooks/pre-commit", hookDiff), Shown: "1"}}
	again := write
	again.Again = "The file has changed since it was allowed, so the change would be another one."
	server := view.Approval{Post: "/gallery/approve", Tool: "tide__publish", Command: "{\"station\": \"pier\"}", Workspace: "tidewatch", Asked: view.Asked{
		Why: "It is a tool of a server, and nobody has said that it only reads.", Offer: []string{"allow mcp:tide__publish"}, Always: true, Shown: "1"}}
	confined := asked
	confined.Command, confined.Asked = "make deploy", view.Asked{Why: "A rule of this workspace says so: ask execute make *.", Sandbox: full, Shown: "1"}
	row := func(r view.Row) []templ.Component {
		return []templ.Component{view.StepItem(view.Step{N: 1, Parts: []view.Part{{Rows: []view.Row{r}}}})}
	}
	waits := func(target string, a view.Approval) []templ.Component {
		return row(view.Row{Kind: view.RowRun, State: view.RowWaits, Target: target, Out: "waits for you", Ask: &a})
	}
	out := []specimen{{"A command in a folder that is not trusted", "", waits("rm -r build && make", asked)},
		{"A rule asks, and the command writes outside", "", waits("git push origin main", ruled)},
		{"Confined, and a rule asks all the same", "", waits("make deploy", confined)},
		{"A protected path: never always", "", waits("write .git/hooks/pre-commit", write)},
		{"Allowed, and changed meanwhile", "", waits("write .git/hooks/pre-commit", again)},
		{"A tool of a server", "", waits("tide__publish", server)}}
	var answered []view.Row
	for i, decision := range []string{"allow_once", "allow_chat", "allow_always", "deny"} {
		answered = append(answered, view.Row{N: i, Kind: view.RowRun, State: view.RowRunning, Target: "rm -r build && make", Out: view.Answered(decision)})
	}
	answered[3].State = view.RowSkipped
	answered = append(answered, view.Row{N: 4, Kind: view.RowRun, State: view.RowSkipped, Target: "rm -r build && make", Out: "denied", In: "not before the release", Fetch: "/gallery/row/refused"})
	out = append(out, specimen{"Allowed once, in this chat, always; denied, denied with a reason", "", []templ.Component{view.StepItem(view.Step{N: 1, Parts: []view.Part{{Rows: answered}}})}},
		specimen{"Answered elsewhere", "", []templ.Component{view.Toast("answered", "warn", "This was answered already.", "")}})
	child := asked
	child.Agent = "Update the docs"
	out = append(out, specimen{"In the parent of a sub-agent", "", []templ.Component{view.AgentsPanel(view.Agents{List: []view.Agent{{ID: "41", Title: "Update the docs", State: view.ChatWaiting,
		Out: "waits for you", Since: ago(0), Cards: []view.Approval{child}}}})}})
	return out
}
