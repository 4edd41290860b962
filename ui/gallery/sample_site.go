package gallery

import "holdfast/ui/view"

func server() view.Server {
	return view.Server{Reachable: true, Address: "127.0.0.1:11434", Version: "0.17.4", Memory: "24 GB", Disk: "31 GB"}
}

func note() view.ServerNote {
	return view.ServerNote{State: "ok", Text: "Model server ready · nothing sent out"}
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
		Server: view.Server{Address: "127.0.0.1:11434", Problem: "The connection was refused."}}
}

func models(p view.Page) view.ModelsPage {
	return view.ModelsPage{Page: p, Note: note(), Server: server(), Models: installed(), Pulls: pulls(), Admin: true, Configs: []view.ModelConfig{
		{ID: "a", Name: "qwen3-coder:30b", Model: "qwen3-coder:30b", Window: 32768, Options: "thinking as the model does", Default: true, Tools: "auto", Can: []string{"tools"}},
		{ID: "b", Name: "Careful", Model: "gpt-oss:20b", Window: 16384, Options: "thinking high", Missing: true, Think: "high", Tools: "auto", KeepAlive: "30m", Can: []string{"tools", "thinking"}},
		{ID: "c", Name: "Rack", Model: "Qwen/Qwen3-Coder-30B-A3B-Instruct", Window: 65536, Tools: "auto", Can: []string{"tools"}, Other: &view.OtherServer{BaseURL: "https://127.0.0.1:8443/v1", HasKey: true}},
		{ID: "d", Name: "Workbench", Model: "/models/devstral-24b.gguf", Window: 8192, Tools: "auto", Other: &view.OtherServer{BaseURL: "http://127.0.0.1:8080/v1", KeyLost: true}},
	}}
}

func workspaces(p view.Page) view.WorkspacesPage {
	return view.WorkspacesPage{Page: p, Note: note(), Admin: true, Spaces: []view.Workspace{
		{ID: "w1", Name: "tidewatch", Directory: "/home/ingrid/src/tidewatch", Trusted: true, Chats: 14},
		{ID: "w2", Name: "almanac", Directory: "/home/ingrid/src/almanac", Chats: 3},
		{ID: "w3", Name: "gauges", Directory: "/mnt/pier/very/long/path/to/a/folder/that/was/mounted/once/gauges", Chats: 1, Problem: "The folder is not there."},
	}}
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
