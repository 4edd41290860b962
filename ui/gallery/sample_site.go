package gallery

import (
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/chat"
	"holdfast/ui/view"
)

func server() view.Server {
	return view.Server{Reachable: true, Address: "127.0.0.1:11434", Version: "0.17.4", Memory: "24 GB", Disk: "31 GB",
		Loaded: []view.LoadedModel{{Name: "qwen3-coder:30b", Facts: "20 GB · window 32k · for 29 min"}, {Name: "gpt-oss:20b", Facts: "14 GB · window 16k · for 4 min", Spills: "38 % beside the graphics card"}}}
}

func note() view.ServerNote {
	return view.ServerNote{State: "ok", Text: "Model server ready", Out: "nothing sent today"}
}

func installed() []view.Model {
	return []view.Model{
		{Name: "qwen3-coder:30b", Detail: "Q4_K_M", Size: "18.6 GB", Window: "262k", Capabilities: []string{"tools"}, Suggested: true, Loaded: true, Configured: true, Chats: true, Fit: "fits", FitDetail: "20.1 GB with 32k"},
		{Name: "gpt-oss:20b", Detail: "MXFP4", Size: "13.8 GB", Window: "131k", Capabilities: []string{"tools", "thinking"}, Chats: true, Fit: "fits", FitDetail: "15.2 GB with 32k"},
		{Name: "hf.co/unsloth/Qwen3-VL-8B-Instruct-GGUF:UD-Q4_K_XL", Detail: "UD-Q4_K_XL", Size: "6.1 GB", Window: "262k", Capabilities: []string{"tools", "thinking", "vision"}, Chats: true, Fit: "fits", FitDetail: "8.0 GB with 32k"},
		{Name: "devstral:24b", Detail: "Q4_K_M", Size: "14.3 GB", Window: "131k", Capabilities: []string{"tools"}, Chats: true, Fit: "tight", FitDetail: "23.2 GB with 32k"},
		{Name: "gpt-oss:120b", Detail: "MXFP4", Size: "65.4 GB", Window: "131k", Capabilities: []string{"tools", "thinking"}, Chats: true, Fit: "too large", FitDetail: "needs 67 GB"},
		{Name: "nomic-embed-text", Size: "274 MB", Window: "2k", Capabilities: []string{"embedding"}, Fit: "fits", FitDetail: "0.6 GB"},
	}
}

func pulls() []view.Pull {
	return []view.Pull{
		{ID: "1", Name: "gpt-oss:120b", Percent: 63, Done: "41.2 GB of 65.4 GB", Rate: "88 MB/s", Left: "4 m 35 s left", Running: true},
		{ID: "2", Name: "devstral:24b", Percent: 12, Done: "1.7 GB of 14.3 GB", Rate: "stopped", Left: "resumes where it stopped", Problem: "The registry does not answer."},
	}
}

func onboarding(p view.Page) view.OnboardingPage {
	return view.OnboardingPage{Page: p, Server: server(), Models: installed(), Demo: true}
}

func noServer(p view.Page) view.OnboardingPage {
	return view.OnboardingPage{Page: p, Demo: true, Start: "OLLAMA_CONTEXT_LENGTH=32768 ollama serve",
		Server: view.Server{Address: "127.0.0.1:11434", Problem: "The model server at 127.0.0.1:11434 does not answer: nothing listens there. Start it, or correct the address."}}
}

func models(p view.Page) view.ModelsPage {
	return view.ModelsPage{Page: p, Note: note(), Server: server(), Models: installed(), Pulls: pulls(), Admin: true, Configs: []view.ModelConfig{
		{ID: "a", Name: "qwen3-coder:30b", Model: "qwen3-coder:30b", Window: 32768, Options: "thinking as the model does", Default: true, Can: []string{"tools"}, Test: tested("a"), Groups: modelForm("a"), CompactAt: 70},
		{ID: "b", Name: "Careful", Model: "gpt-oss:20b", Window: 16384, Options: "thinking high", Missing: true, Can: []string{"tools", "thinking"}, Groups: modelForm("b"), CompactAt: 70, OwnThreshold: "55",
			Test: view.ModelTest{ID: "b", Admin: true, Failed: "gpt-oss:20b is not on the model server. Pull or import it.", FailedAt: "Today, 20 November: "}},
		{ID: "c", Name: "Rack", Model: "Qwen/Qwen3-Coder-30B-A3B-Instruct", Window: 65536, Can: []string{"tools"}, Groups: modelForm("c"), CompactAt: 70, Test: view.ModelTest{ID: "c", Admin: true, Running: true, Status: "4 of 10, several calls at once", Percent: 30}, Other: &view.OtherServer{BaseURL: "https://127.0.0.1:8443/v1", HasKey: true}},
		{ID: "d", Name: "Workbench", Model: "/models/devstral-24b.gguf", Window: 8192, Groups: modelForm("d"), CompactAt: 70, Test: view.ModelTest{ID: "d", Admin: true, Found: "It makes no tool calls of its own, so it writes them as text and they are read from there."}, Other: &view.OtherServer{BaseURL: "http://127.0.0.1:8080/v1", KeyLost: true}},
	}}
}

// tested is a model whose test found something of every kind.
func tested(id string) view.ModelTest {
	return view.ModelTest{ID: id, Admin: true, Done: "Today, 20 November, in 1 min 12 s",
		Facts: []view.Fact{{Name: "Reads", Value: "1240 tokens/s"}, {Name: "Writes", Value: "41 tokens/s"}, {Name: "Window", Value: "32k tokens seen, 32k asked for"}},
		Rows: []view.TestRow{
			{Icon: "i-list", Verb: "Stream", Text: "sends its reply piece by piece", State: "yes"},
			{Icon: "i-wrench", Verb: "Call", Text: "calls a tool with the right arguments", State: "yes"},
			{Icon: "i-wrench", Verb: "Calls", Text: "makes two calls in one reply", State: "no", Detail: "It made no call for Oslo."},
			{Icon: "i-file", Verb: "Shape", Text: "keeps to a JSON schema", State: "failed", Detail: "The model server failed. llama runner process has terminated: exit status 2"},
			{Icon: "i-file", Verb: "JSON", Text: "calls a tool inside a JSON reply", State: "skipped", Detail: "Its replies take no shape."},
			{Icon: "i-eye", Verb: "See", Text: "sees what is in a picture", State: "no"},
			{Icon: "i-read", Verb: "Read", Text: "reads its window whole", State: "yes", Detail: "At least 22500 tokens; more would have taken over 3 minutes to read."},
		}}
}

// modelForm is a form with a field of every kind and one that was refused.
func modelForm(id string) []view.FieldGroup {
	return []view.FieldGroup{
		{Fields: []view.Field{{ID: "n" + id, Name: "name", Label: "Name", Value: "qwen3-coder:30b"},
			{ID: "w" + id, Name: "context_limit", Label: "Window, in tokens", Value: "32768", Hint: "A larger window takes more memory. Empty: chosen by what fits.", Number: true},
			{ID: "t" + id, Name: "tools", Label: "Tools", Options: view.Choices("auto", "auto", "as the model can", "off", "off")},
			{Name: "send_reasoning", Label: "Send back what it thought", Hint: "For models that go on better with it. It takes room in the window.", Box: true}}},
		{Title: "Sampling", Fields: []view.Field{{ID: "p" + id, Name: "temperature", Label: "Temperature", Value: "hot", Number: true, Error: "Write a number such as 0.7, or nothing."}}},
		{Title: "Loading", Fields: []view.Field{{ID: "g" + id, Name: "num_gpu", Label: "Layers on the graphics card", Hint: "Empty: as many as fit.", Number: true}}},
	}
}

func workspaces(p view.Page) view.WorkspacesPage {
	return view.WorkspacesPage{Page: p, Note: note(), Admin: true, Idle: view.IdleForm{Text: "2h", Saved: true},
		Make: view.MakeForm{Templates: view.Choices("t2", "t1", "Tide tables", "t2", "harbour"), Branch: "fix/login", Problem: "the name of a branch, such as main or fix/login"}, Spaces: []view.Workspace{
			{ID: "w1", Name: "tidewatch", Directory: "/home/ingrid/src/tidewatch", Trusted: true, Chats: 14, State: chat.WorkspaceRunning, Until: ago(-12 * time.Minute), UntilTime: "14:18", Sandbox: chat.NoSandbox()},
			{ID: "w2", Name: "almanac", Directory: "/home/ingrid/src/almanac", Chats: 3, State: chat.WorkspaceStopped, Template: "Tide tables", Branch: "holdfast/moon", Worktree: true, Sandbox: held(chat.SandboxFull, chat.ProfileWorkspace)},
			{ID: "w3", Name: "gauges", Directory: "/mnt/pier/very/long/path/to/a/folder/that/was/mounted/once/gauges", Chats: 1, State: chat.WorkspaceOffline, Sandbox: held(chat.SandboxFull, chat.ProfileNetwork, "network"), Chosen: chat.ProfileNetwork, Problem: "The folder is not there."},
			{ID: "w7", Name: "buoys", Directory: "/srv/work/buoys", State: chat.WorkspaceRunning, Elsewhere: true, Agent: "breakwater", Sandbox: held(chat.SandboxFull, chat.ProfileWorkspace)},
			{ID: "w8", Name: "lanterns", Directory: "/srv/work/lanterns", State: chat.WorkspaceOffline, Elsewhere: true, Agent: "breakwater", Sandbox: held(chat.SandboxFull, chat.ProfileWorkspace)},
			{ID: "w9", Name: "locks", State: chat.WorkspaceOffline, Elsewhere: true, Sandbox: chat.NoSandbox()},
			{ID: "w10", Name: "ropes", Directory: "/srv/work/ropes", State: chat.WorkspaceOffline, Elsewhere: true, Revoked: true, Template: "harbour", Sandbox: chat.NoSandbox()},
			{ID: "w4", Name: "harbour", Directory: "/home/ingrid/workspaces/harbour", State: chat.WorkspaceSetup, Template: "harbour", Log: setupLog, Sandbox: held(chat.SandboxPartial, chat.ProfileWorkspace, "names of other processes", "protected files of the workspace"), Reason: "namespaces cannot be set up: operation not permitted"},
			{ID: "w5", Name: "moon", Directory: "/home/ingrid/workspaces/moon", State: chat.WorkspaceSetupFailed, Template: "moon", Log: setupLog + "sh: 3: npm: not found\nsetup failed with exit code 127", Sandbox: held(chat.SandboxNone, chat.ProfileWorkspace, "files", "network", "processes"), Reason: "this kernel has no Landlock, or has it switched off"},
			{ID: "w6", Name: "waves", Directory: "/home/ingrid/workspaces/waves", State: chat.WorkspaceStopping, Sandbox: held(chat.SandboxFull, chat.ProfileReadOnly), Chosen: chat.ProfileReadOnly},
		}}
}

const setupLog = "Cloning into '/home/ingrid/workspaces/moon'...\nadded 214 packages, and audited 215 packages in 9s\n\x1b[32m✓\x1b[0m a_line_without_any_place_to_break_that_is_longer_than_every_telephone_is_wide_and_then_some_more\n"

// spaceNotes are what a chat says of its workspace.
func spaceNotes() []templ.Component {
	var out []templ.Component
	for _, n := range []view.SpaceNote{{Name: "moon", State: chat.WorkspaceCreating}, {Name: "moon", State: chat.WorkspaceSetup, Log: setupLog},
		{ID: "w5", Name: "moon", State: chat.WorkspaceSetupFailed, Log: setupLog + "setup failed with exit code 127"}, {Name: "gauges", State: chat.WorkspaceOffline}, {Name: "gauges", Agent: "breakwater", State: chat.WorkspaceOffline}, {Name: "ropes", Revoked: true, State: chat.WorkspaceOffline}, {Others: 1}, {Others: 3}} {
		out = append(out, view.SpaceNotice(n))
	}
	return out
}

func makeRows() []view.Row {
	list := []view.Row{
		{Kind: view.RowList, Target: "templates", Out: "", Took: "0.0 s", Fetch: "/gallery/row/none"},
		{Kind: view.RowMake, State: view.RowWaits, Target: "workspace moon", In: "fix/login", Out: "waits for you"},
		{Kind: view.RowMake, State: view.RowRunning, Target: "workspace moon", In: "fix/login", Out: "being made", Since: ago(3 * time.Second)},
		{Kind: view.RowMake, State: view.RowRunning, Target: "workspace moon", Out: "being set up", Since: ago(40 * time.Second), Tail: &view.Tail{Output: setupLog, Facts: "214 bytes so far"}},
		{Kind: view.RowMake, State: view.RowFailed, Target: "workspace moon", In: "/home/ingrid/holdfast-workspaces/moon", Out: "setup failed", Took: "9.0 s", Fetch: "/gallery/row/lint"},
		{Kind: view.RowMake, Target: "workspace moon", In: "/home/ingrid/holdfast-workspaces/moon", Out: "running", Took: "14 s", Fetch: "/gallery/row/output"},
	}
	for i := range list {
		list[i].N = i
	}
	return list
}

func templates(p view.Page) view.TemplatesPage {
	return view.TemplatesPage{Page: p, Note: note(), Admin: true, New: template("n", ""), Templates: []view.Template{
		template("t1", "Between 0, which is ten minutes, and two hours."),
		{ID: "t2", Name: "harbour", Kind: "worktree", Target: "crane (agent of harbour, away)", Facts: "with setup · stops after 2h", Groups: template("t2", "").Groups, Saved: true},
		{ID: "t3", Name: "src", Kind: "folder", Description: "All that the office has, of which a model should know before it begins: a description that is as long as they get", Models: true, Facts: "for everybody", Groups: template("t3", "").Groups, Problem: "The template has just been changed by somebody else."},
	}}
}

func template(id, wrong string) view.Template {
	return view.Template{ID: id, Name: "Tide tables", Kind: "clone", Description: "The tables of the harbour office", Models: true, Groups: []view.FieldGroup{
		{Fields: []view.Field{{ID: "tn" + id, Name: "name", Label: "Name", Value: "Tide tables"},
			{ID: "tk" + id, Name: "kind", Label: "What is made", Options: view.Choices("clone", "directory", "A folder, as it is", "clone", "A new clone of a repository")},
			{ID: "tw" + id, Name: "target", Label: "Where", Hint: "On this machine, or beside an agent that lets workspaces be made.", Options: view.Choices("a2", "appliance", "this machine", "a2", "crane (agent of harbour, away)")},
			{ID: "td" + id, Name: "directory", Label: "Made in", Hint: "A folder on this machine. Empty: holdfast-workspaces in the home directory."},
			{ID: "tt" + id, Name: "description", Label: "Description", Value: "The tables of the harbour office", Lines: 2}}},
		{Title: "Setup", Fields: []view.Field{{ID: "ts" + id, Name: "setup", Label: "Command", Value: "npm ci\nnpm run build", Hint: "Runs once in each new workspace, in its sandbox, before anything else.", Lines: 4},
			{ID: "tl" + id, Name: "setup_timeout_ms", Label: "At most", Value: "3h", Short: true, Error: wrong},
			{Name: "setup_network", Label: "With network", Hint: "The setup reaches the network, whatever the sandbox says.", Box: true, Checked: true}}}}}
}

func farAgents(p view.Page) view.AgentsPage {
	return view.AgentsPage{Page: p, Note: note(), Open: true,
		Fresh: view.FreshAgent{Row: "aw-w9", Workspace: "tide-feed on the pier", Until: "15:04", Token: "hfe_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG",
			Command: "holdfast --agent --url https://127.0.0.1:8421 --pin sha256:6ab0d5e0b1d0f2b9c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f60718293a4b5c6d7e --dir . --enrol-file -"},
		Agents: []view.FarAgent{
			{ID: "a1", Workspace: "gauges", Place: "buoy-7:/srv/gauges", State: view.AgentOnline, Since: "22 Nov 09:14", Own: true, Facts: []string{"v1.4.0, linux arm64", "link 1.3", "sandbox full", "load 0.4, 71% of memory free, 2 processes"},
				Offers: "commands, files, git, live context, sandbox"},
			{ID: "a2", Workspace: "harbour", Place: "crane:/home/ingrid/very/long/path/to/a/folder/that/was/mounted/once/harbour", State: view.AgentOffline, Since: "21 Nov 18:30", Seen: "21 Nov 18:29", Own: true, Renewal: "15:04",
				Facts: []string{"v1.3.2, linux amd64", "link 1.1", "sandbox none"}, Offers: "commands, files", Lacks: "git, live context, sandbox"},
			{ID: "a3", Workspace: "moon", Place: "copied-vm:/srv/moon", State: view.AgentTwice, Since: "22 Nov 08:00", Seen: "22 Nov 08:00", Problem: "two agents share one key and displace each other; stop one of them, or revoke it and enrol each on its own"},
			{ID: "a4", Workspace: "waves", Place: "old-box:/srv/waves", State: view.AgentVersion, Problem: "the other side speaks version 2 of the link, this one version 1; both need the same: bring both to the same release"},
			{ID: "a5", Workspace: "wrecks", Place: "pi:/srv/wrecks", State: view.AgentOffline},
		},
		Waiting: []view.AgentWait{{ID: "w9", Workspace: "tide-feed on the pier", Until: "15:04", Own: true}, {ID: "w10", Workspace: "archive", Own: true}, {ID: "w11", Workspace: "of another admin"}}}
}

// renewedAgent is the page right after a token for a new key was made.
func renewedAgent(p view.Page) view.AgentsPage {
	out := farAgents(p)
	out.Waiting, out.Agents = nil, out.Agents[1:2]
	out.Fresh.Row, out.Fresh.Workspace, out.Fresh.Renewed = "ag-a2", "harbour", true
	return out
}

func held(level chat.SandboxLevel, p chat.Profile, open ...string) chat.Sandbox {
	return chat.Sandbox{Level: level, Profile: p, Open: open}
}

func tokens(p view.Page) view.TokensPage {
	return view.TokensPage{Page: p, Note: note(), Fresh: "hf_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG", Tokens: []view.Token{
		{ID: "1", Name: "editor on the laptop", Created: "12 November", LastUsed: "2 minutes ago", Expires: "10 February"},
		{ID: "2", Name: "dashboard", Created: "1 October", ReadOnly: true},
		{ID: "3", Name: "old script", Created: "3 March", LastUsed: "May", Expires: "1 June", Expired: true},
	}}
}

func archived() view.Archived {
	return view.Archived{More: 200, Rows: []view.ArchivedChat{
		{ID: "21", Title: "Import tide tables of 2026", Summary: "All 12 tables are in, with tests.", When: "14:02"},
		{ID: "22", Title: "A very long title that says in one breath what was asked for, why, by whom, and when it was to be done", When: "Mon", Stopping: true}}}
}
