package gallery

import (
	"github.com/a-h/templ"

	"holdfast/ui/text"
	"holdfast/ui/view"
)

// modelCalls are the list of a chat's calls and one call, in their states.
func modelCalls() []specimen {
	rows := []view.RunRow{
		{Href: "/gallery/", When: "20 Nov, 14:31:08", Purpose: "Turn", Model: "qwen3-coder:30b", In: "18,402", Out: "311", First: "2.1 s", Took: "9.4 s", State: "whole", Icon: "i-check", Tone: "ok"},
		{Href: "/gallery/", When: "20 Nov, 14:30:41", Purpose: "Turn", Model: "qwen3-coder:30b", In: "17,960", Out: "32,000", First: "3 s", Took: "18 min", State: "cut at the limit", Icon: "i-alert", Tone: "warn"},
		{Href: "/gallery/", When: "20 Nov, 14:29:55", Purpose: "Compaction", Model: "hf.co/unsloth/Qwen3-VL-8B-Instruct-GGUF:UD-Q4_K_XL", Took: "1.0 s", State: "failed, 3 attempts", Icon: "i-fail", Tone: "danger"},
		{Href: "/gallery/", When: "20 Nov, 14:29:02", Purpose: "Turn", Model: "qwen3-coder:30b", First: "0.9 s", Took: "4.0 s", State: "stopped", Icon: "i-skip", Tone: "faint"},
	}
	body := view.RunPage{Run: view.RunRow{State: "failed, 3 attempts", Icon: "i-fail"}, Problem: "The model server failed. llama runner process has terminated: exit status 2",
		Facts:    []view.RunFact{{Name: "In all", Value: "9.4 s"}, {Name: "Loading the model", Value: "4.0 s"}, {Name: "Tokens in", Value: "18,402"}, {Name: "Speed", Value: "41.2", Unit: "tokens/s"}},
		Attempts: []view.RunAttempt{{When: "14:29:55", Message: "The model server is busy. (status 503)", Next: "again after 1.0 s"}},
		Reused:   "The first 61.2 KB of 64.0 KB are as in the call before, 95 %: the server need not read them anew while it holds them.",
		Parts: []view.RunPart{{Kind: "tools", Begins: "execute, process_output, read_file, write_file, edit_files, search_files", Tokens: "2,310", Size: "7.9 KB", Share: 12},
			{Kind: "system", Begins: "You are Holdfast, a coding agent on a person's own machine.", Tokens: "1,204", Size: "4.1 KB", Share: 6}, {Kind: "user", Begins: "Retry the tide feed with backoff", Tokens: "14,888", Size: "52.0 KB", Share: 82}},
		Reasoning: "The feed fails for a moment at low tide, so a retry is enough.", Answer: "I read the fetcher first.",
		Calls:   []view.RunCall{{Name: "read_file", Args: text.Source("request.json", "1\t{\n2\t  \"path\": \"feed/fetch.go\"\n3\t}")}},
		Request: text.Source("request.json", "1\t{\n2\t  \"model\": \"qwen3-coder:30b\",\n3\t  \"stream\": true\n4\t}"), Size: "64.0 KB", Exact: "/gallery/"}
	return []specimen{
		{"A list", "", []templ.Component{view.RunsTable(view.RunsPage{Runs: rows, More: "/gallery/", Left: "1 damaged entry cannot be shown."})}},
		{"None", "", []templ.Component{view.RunsTable(view.RunsPage{})}},
		{"One that failed", "", []templ.Component{view.RunBody(body)}},
	}
}

// systems are the system page well and in trouble.
func systems() []specimen {
	figures := []view.RunFact{{Name: "Database", Value: "212.4 MB"}, {Name: "Unused in it", Value: "18.0 MB"}, {Name: "Free on the disk", Value: "91.0 GB"}, {Name: "Damaged records", Value: "0"}}
	return []specimen{
		{"Well", "", []templ.Component{view.SystemHealth(view.SystemPage{Path: "/var/lib/holdfast", Figures: figures})}},
		{"A full disk and damage", "", []templ.Component{view.SystemHealth(view.SystemPage{Problem: "The disk with the data directory is full",
			Next: "Free some space on the file system of /var/lib/holdfast; writing goes on by itself, and nothing that was accepted is lost.", Figures: figures,
			Damages: []view.DamageRow{{What: "message 1204 of chat 01932f5e-7c3a-7cc1-9a51-2f6f1c0d8e11", Href: "/gallery/", Reason: "the checksum does not fit", Next: "This chat can only be read up to there, others go on."},
				{What: "term 00a1", Reason: "the record is cut", Next: "Only the search is affected; it is made anew."}}})}},
		{"Looked at", "", []templ.Component{view.DoctorLater("/gallery/nothing"), view.DoctorSection(doctorList()), view.DoctorSection(view.DoctorList{Problem: "The store cannot be read."})}},
		{"Run log on, off", "", []templ.Component{view.RunLogSection(view.RunLogForm{On: true}), view.RunLogSection(view.RunLogForm{})}},
		{"Secrets: sealed anew, refused", "", []templ.Component{view.SecretsSection(view.SecretsForm{Done: "3 secrets"}), view.SecretsSection(view.SecretsForm{Problem: "The key comes from the service manager."})}},
	}
}

// doctorList has a line of every state.
func doctorList() view.DoctorList {
	return view.DoctorList{Sum: "2 ok, 1 warning, 1 failed, 1 skipped: at those nobody could look.", Rows: []view.DoctorRow{
		{Name: "mount", State: "failed", Found: "ext4 at /var/lib/holdfast, read-only", Do: "Mount it for writing, after a look at the log of the kernel: it does this by itself after errors of the disk."},
		{Name: "inotify", State: "warning", Found: "8192 watches, 128 instances", Do: "Large workspaces need more: sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512"},
		{Name: "store", State: "ok", Found: "takes writes; 212.4 MB, 18.0 MB unused; records are read one chat a minute"},
		{Name: "model server", State: "ok", Found: "http://127.0.0.1:11434, version 0.17.4, 2 models loaded"},
		{Name: "GPU", State: "skipped", Found: "NVIDIA GeForce RTX 4090, driver 550.54.14; no model is loaded, so that nobody can tell whether the model server uses it"}}}
}

// turnLog is the run log of a chat with a finished, a failed and a cut turn.
func turnLog() view.TurnLog {
	span := func(kind, name, took, x, width string) view.LoggedSpan {
		return view.LoggedSpan{Kind: kind, Name: name, Took: took, X: x + "%", Width: width + "%", Inner: kind == "model" || kind == "call" || kind == "commit"}
	}
	asked, read := span("model", "Turn, qwen3-coder:30b", "6.1 s", "0.2", "64"), span("call", "read_file", "2 ms", "64.2", "0.5")
	asked.Href, asked.Detail, read.Failed = "/gallery/", "18,402 in, 311 out", true
	return view.TurnLog{ChatID: "1", More: true, Left: "1 damaged entry cannot be shown.", Turns: []view.LoggedTurn{
		{ID: "3", When: "20 Nov, 14:31:08", State: "finished", Took: "9.4 s", More: 12, Spans: []view.LoggedSpan{span("request", "Request, POST /chats/{id}/messages", "2 ms", "0", "0.5"),
			span("step", "Step", "6.5 s", "0.1", "69"), asked, read, span("commit", "Commit, commit step", "< 1 ms", "68.5", "0.5"), span("step", "Step", "2.9 s", "69.2", "30.8"),
			span("model", "Turn, qwen3-coder:30b", "2.8 s", "69.3", "30"), span("commit", "Commit, finish turn", "1 ms", "99.5", "0.5")}},
		{ID: "2", When: "20 Nov, 14:29:02", State: "failed", Took: "4.0 s"},
		{ID: "1", When: "20 Nov, 14:28:40", State: "cut"}}}
}
