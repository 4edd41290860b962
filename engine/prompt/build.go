package prompt

import (
	"slices"
	"strings"

	"holdfast/engine/chat"
)

// MaxOutput is the default cap of output tokens.
const MaxOutput = 32000

// Values of Part.Name in the model-only system Messages that a Chat is created with. A later KindWorkspace replaces an earlier one.
const (
	KindAppliance = "appliance"
	KindChat      = "chat"
	KindWorkspace = "workspace"
	// KindContext tells a running Turn of a context that counts from the next one on; that one has it in its own sections.
	KindContext = "context"
)

// Input is everything that a request is made of.
type Input struct {
	Chat   *chat.Chat
	Config chat.ModelConfig
	// Window is num_ctx in tokens, MaxOutput the cap of output tokens (0 is MaxOutput).
	Window    int
	MaxOutput int
	// Messages are all of the Chat's, ascending, as stored: model-only, deleted and boundaries included.
	Messages []*chat.Message
	// Workspace is nil when the Chat has none; System names its operating system, "" leaves that out.
	Workspace *chat.WorkspaceRecord
	System    string
	// Snapshot is the Workspace's context that the Turn has pinned, with Payloads; nil for none.
	Snapshot *chat.Snapshot
	// Tools are chosen and ordered by the caller; TextTools writes them into the system text.
	Tools     []chat.ToolDef
	TextTools bool
	// JSONTools has the Tools in the system text too, and whole replies in the shape of a schema.
	JSONTools bool
	// Mode limits the Turn; PlanPath is the file that plan mode may write, "" for none, and PlanText what the site adds about it.
	Mode     chat.Mode
	PlanPath string
	PlanText string
	// Appliance is the site's prompt, used when none is stored with the Chat.
	Appliance        string
	UserInstructions string
	// Guidance tells the model when to consult the advisor; empty for a Turn without one.
	Guidance string
	// Joiner joins the sections of the system text; nil joins them anew.
	Joiner *Joiner
	// Files holds what a request may have of attached Files, by id; one that is absent is named as missing.
	Files map[string]Attached
}

// Built is a request and what is known of its size.
type Built struct {
	Request *chat.Request
	// Sections are those of the request's system text, in order.
	Sections []string
	// Bytes counts system text, tool definitions and messages as the model reads them.
	Bytes int64
	// Tokens is the estimate of the prompt's tokens: the server's last counts plus three bytes per token for what was added.
	Tokens int64
	// Unanswered names the user Messages that no reply has answered yet, oldest first.
	Unanswered []chat.MessageID
}

// Build makes the request of the next Step.
func Build(in Input) Built {
	tools := sizedTools(in.Tools, in.Window)
	req := &chat.Request{
		Class:         chat.ClassTurn,
		Provider:      in.Config.Provider,
		BaseURL:       in.Config.BaseURL,
		ModelConfigID: in.Config.ID,
		Model:         in.Config.Model,
		Options:       in.Config.Options,
		Think:         Think(in.Config, in.Chat.ReasoningEffort),
		Speed:         in.Config.Speed(),
	}
	req.Options.NumCtx = in.Window
	sections := systemSections(in, tools)
	req.System = in.Joiner.join(sections)
	req.Messages = history(in)
	switch {
	case in.JSONTools && len(tools) > 0:
		req.Format = replySchema(tools)
	case !in.TextTools && !in.JSONTools:
		req.Tools = tools
	}
	built := Built{Request: req, Sections: sections, Bytes: RequestBytes(req), Unanswered: Unanswered(in.Messages)}
	built.Tokens = estimate(in.Chat.Used, built.Bytes)
	if most := in.Config.Options.NumPredict; most != nil && (in.MaxOutput <= 0 || *most < in.MaxOutput) {
		in.MaxOutput = *most
	}
	req.MaxTokens = outputTokens(in.MaxOutput, int64(in.Window)-built.Tokens)
	return built
}

// outputTokens caps the output by what the window leaves. A prompt that leaves nothing is not sent, so 1 is only a valid value.
func outputTokens(most int, left int64) int {
	if most <= 0 {
		most = MaxOutput
	}
	return int(max(1, min(int64(most), left)))
}

// sizedTools gives the definitions with the texts for the window: defs itself where all stay as they are.
func sizedTools(defs []chat.ToolDef, window int) []chat.ToolDef {
	short := func(d chat.ToolDef) bool { return d.Short != "" }
	if window >= SmallWindow || !slices.ContainsFunc(defs, short) {
		return defs
	}
	out := slices.Clone(defs)
	for i := range out {
		if short(out[i]) {
			out[i].Description = out[i].Short
		}
	}
	return out
}

// Think maps an effort to the model; "" is what the model's config says. Only gpt-oss knows levels; other models refuse them with 400.
func Think(cfg chat.ModelConfig, effort string) string {
	if effort == "" {
		return cfg.Options.Think
	}
	if !has(cfg.Capabilities, "thinking") {
		return ""
	}
	switch effort {
	case "off", "none", "false":
		return "false"
	case "low", "medium", "high":
		if strings.Contains(strings.ToLower(cfg.Model), "gpt-oss") {
			return effort
		}
	}
	return "true"
}

func has(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}
