package ui

import (
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/engine/file"
	"holdfast/ui/gate"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// callArgs are the fields of all our Tools' arguments that a row shows.
type callArgs struct {
	Path      string          `json:"path"`
	Name      string          `json:"name"`
	Pattern   string          `json:"pattern"`
	Glob      string          `json:"glob"`
	Kind      string          `json:"kind"`
	Command   string          `json:"command"`
	ProcessID string          `json:"process_id"`
	Signal    string          `json:"signal"`
	Branch    string          `json:"branch"`
	Files     json.RawMessage `json:"files"`
}

// describeCall gives verb and target of a Call. Arguments that cannot be read leave the target empty.
func describeCall(tool string, raw json.RawMessage) view.Row {
	var a callArgs
	if err := json.Unmarshal(raw, &a); err != nil {
		a = callArgs{}
	}
	switch tool {
	case "read_file":
		return view.Row{Kind: view.RowRead, Path: a.Path}
	case "write_file":
		return view.Row{Kind: view.RowWrite, Path: a.Path}
	case "edit_files":
		return editRow(a.Files)
	case "list_files":
		r := view.Row{Kind: view.RowList, Path: orDot(a.Path)}
		if a.Glob != "" {
			r.In = a.Glob
		}
		return r
	case "search_files":
		r := view.Row{Kind: view.RowSearch, Target: a.Pattern}
		if a.Path != "" {
			r.In = "in " + a.Path
		}
		return r
	case "execute":
		return view.Row{Kind: view.RowRun, Target: oneLine(a.Command)}
	case "read_skill":
		return view.Row{Kind: view.RowSkill, Target: a.Name}
	case "read_skill_file":
		return view.Row{Kind: view.RowSkill, Target: a.Name, In: a.Path}
	case chat.SummaryTool:
		return view.Row{Kind: view.RowSummary, Target: "earlier messages, for the model"}
	case "process_output":
		return view.Row{Kind: view.RowOutput, Target: a.ProcessID}
	case "ask_user_question":
		return questionRow(raw)
	case "propose_plan":
		return view.Row{Kind: view.RowPlan, Path: a.Path}
	case "create_workspace":
		r := view.Row{Kind: view.RowMake, Target: "a workspace", In: a.Branch}
		if a.Name != "" {
			r.Target = "workspace " + oneLine(a.Name)
		}
		return r
	case "list_templates":
		return view.Row{Kind: view.RowList, Target: "templates"}
	case "attach_file":
		return view.Row{Kind: view.RowGive, Path: a.Path}
	case "process_list":
		return view.Row{Kind: view.RowList, Target: "processes"}
	case "process_signal":
		return view.Row{Kind: view.RowSignal, Target: a.ProcessID, In: a.Signal}
	}
	if row, ok := agentRow(tool, raw); ok {
		return row
	}
	return view.Row{Kind: view.RowOther, Target: tool, In: argumentsOf(raw)}
}

func editRow(raw json.RawMessage) view.Row {
	type file struct {
		Path string `json:"path"`
	}
	var files []file
	if json.Unmarshal(raw, &files) != nil {
		var single file
		if json.Unmarshal(raw, &single) == nil {
			files = []file{single}
		}
	}
	r := view.Row{Kind: view.RowEdit}
	if len(files) > 0 {
		r.Path = files[0].Path
	}
	if len(files) > 1 {
		r.In = "and " + view.Count(len(files)-1, "more file")
	}
	return r
}

func questionRow(raw json.RawMessage) view.Row {
	questions, err := chat.Questions(raw)
	if err != nil {
		return view.Row{Kind: view.RowAsk, Target: "a question"}
	}
	r := view.Row{Kind: view.RowAsk, Target: oneLine(questions[0].Question)}
	if n := len(questions) - 1; n > 0 {
		r.In = "and " + view.Count(n, "more question")
	}
	return r
}

// argumentsOf is a short form of the arguments of a Tool that is not ours.
func argumentsOf(raw json.RawMessage) string {
	const most = 120
	s := []rune(strings.TrimSpace(string(raw)))
	if string(s) == "{}" {
		return ""
	}
	if len(s) > most {
		return string(s[:most-1]) + "…"
	}
	return string(s)
}

func orDot(p string) string {
	if p == "" {
		return "."
	}
	return path.Clean(p)
}

func oneLine(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if strings.TrimSpace(rest) != "" {
		line += " …"
	}
	return line
}

// describeResult fills in what came of a Call.
func describeResult(r *view.Row, p *chat.Part) {
	if p.CreatedAt != nil && p.CompletedAt != nil {
		r.Took = view.Took(p.CompletedAt.Sub(*p.CreatedAt))
	}
	if p.IsError {
		failedRow(r, p)
		return
	}
	if p.ToolName == "create_workspace" {
		madeRow(r, p)
		return
	}
	switch r.Kind {
	case view.RowRead:
		var d chat.ReadDetail
		if detail(p, &d) {
			r.Path, r.Out = d.Path, linesOf(d)
		}
	case view.RowEdit, view.RowWrite:
		var d chat.ChangeDetail
		if !detail(p, &d) {
			return
		}
		for _, f := range d.Files {
			r.Adds += f.Added
			r.Dels += f.Removed
		}
		if len(d.Files) == 1 {
			r.Path = d.Files[0].Path
			if d.Files[0].Created && r.Adds == 0 {
				r.Out = "new, empty"
			}
		}
	case view.RowRun:
		var d chat.ExecuteDetail
		if detail(p, &d) {
			executeRow(r, d)
		}
	case view.RowList:
		var d chat.ListDetail
		if detail(p, &d) && d.Path != "" {
			r.Out = view.Count(d.Entries, "entry")
		}
	case view.RowSearch:
		var d chat.SearchDetail
		if detail(p, &d) {
			r.Out = "nothing found"
			if d.Matches > 0 {
				r.Out = view.Count(d.Matches, "match") + " in " + view.Count(d.Files, "file")
			}
		}
	case view.RowOutput, view.RowSignal:
		var d chat.ProcessDetail
		if detail(p, &d) {
			r.Target, r.Out = oneLine(d.Command), endOf(d.Running, d.ExitCode)
		}
	case view.RowAgent:
		agentResult(r, p)
	case view.RowSummary:
		var by struct{ Model string }
		if json.Unmarshal(p.Result, &by) == nil && by.Model != "" {
			r.Out = "by " + oneLine(by.Model)
		}
	case view.RowSkill:
		r.Out = "read"
	case view.RowGive:
		r.Out = "given to you"
	case view.RowOther:
		switch {
		case chat.IsPicture(p.MediaType):
			r.Out = "image"
		case p.FileID != "":
			r.Out = "file"
		}
	case view.RowAsk, view.RowPlan:
		r.Out = "shown to you"
	}
}

// madeRow says what became of a Workspace that a model had made.
func madeRow(r *view.Row, p *chat.Part) {
	var d struct {
		Name, Directory string
		State           chat.WorkspaceState
	}
	if json.Unmarshal(p.Result, &d) != nil || d.State == "" {
		return
	}
	r.Target, r.In, r.Out = "workspace "+oneLine(d.Name), d.Directory, d.State.Words()
	if d.State == chat.WorkspaceSetupFailed {
		r.State, r.Out = view.RowFailed, "setup failed"
	}
}

func failedRow(r *view.Row, p *chat.Part) {
	r.State = view.RowFailed
	var body struct{ Error string }
	if json.Unmarshal(p.Result, &body) == nil {
		r.Out = firstSentence(body.Error)
	}
	if tool, skipped := chat.SkippedFor(body.Error); skipped {
		r.State, r.Out = view.RowSkipped, "skipped, "+tool+" runs alone"
		return
	}
	switch body.Error {
	case chat.TextCut, chat.TextLost, chat.TextUserStop:
		r.State, r.Out = view.RowStopped, "interrupted"
	case chat.TextStopped:
		r.State, r.Out = view.RowStopped, "interrupted; may have run"
	}
	if r.Kind == view.RowSummary {
		r.Target, r.Out = "the history was not summarised", firstSentence(body.Error)
		if r.State == view.RowStopped {
			r.Out = "interrupted before the summary was written"
		}
		return
	}
	var d chat.ExecuteDetail
	if r.Kind == view.RowRun && detail(p, &d) {
		executeRow(r, d)
	}
}

func executeRow(r *view.Row, d chat.ExecuteDetail) {
	switch {
	case d.Background:
		r.Out = "in the background"
	case d.Lost == "restarted":
		r.State, r.Out = view.RowFailed, "gone, its agent restarted"
	case d.Lost == "unreachable":
		r.State, r.Out = view.RowFailed, "may still run, its agent is away"
	case d.Running:
		r.Out = "still running"
	case d.Signal != "":
		r.State, r.Out = view.RowFailed, "ended by "+d.Signal
	default:
		r.Out = "exit " + strconv.Itoa(d.ExitCode)
		if d.ExitCode != 0 {
			r.State = view.RowFailed
		}
	}
}

func endOf(running bool, code int) string {
	if running {
		return "running"
	}
	return "exit " + strconv.Itoa(code)
}

func linesOf(d chat.ReadDetail) string {
	switch {
	case d.Total == 0:
		return "empty"
	case d.From == 1 && d.To == d.Total:
		return view.Count(d.Total, "line")
	}
	return "lines " + strconv.Itoa(d.From) + "–" + strconv.Itoa(d.To) + " of " + strconv.Itoa(d.Total)
}

func firstSentence(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i]
	}
	s = strings.TrimSuffix(s, ".")
	if r := []rune(s); len(r) > 60 {
		s = string(r[:59]) + "…"
	}
	return s
}

func detail(p *chat.Part, into any) bool {
	return len(p.Detail) > 0 && json.Unmarshal(p.Detail, into) == nil
}

// row answers with the body of an opened row.
func (s *Site) row(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseInt(r.PathValue("message"), 10, 64)
	if err != nil {
		gate.WriteError(w, r, chat.NotFound("message"))
		return
	}
	p := gate.Principal(r.Context())
	m, err := s.chats.Message(r.Context(), p, engine.MessageInput{ChatID: chat.ID(r.PathValue("id")), Message: chat.MessageID(n)})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	for i := range m.Content {
		if m.Content[i].CallID == r.PathValue("call") && m.Content[i].Type == chat.PartToolResult {
			body := rowBody(&m.Content[i])
			body.Files = s.resultFiles(r, &m.Content[i])
			s.fragment(w, r, view.RowBody(body))
			return
		}
	}
	gate.WriteError(w, r, chat.NotFound("call"))
}

// resultFiles gives what a Result has beside its text.
func (s *Site) resultFiles(r *http.Request, p *chat.Part) []view.Attached {
	if p.FileID == "" {
		return nil
	}
	f, err := s.o.Files.Get(r.Context(), gate.Principal(r.Context()), file.GetInput{FileID: chat.FileID(p.FileID)})
	if err != nil {
		// Whoever may see the Chat and not the File sees its name.
		return []view.Attached{{ID: p.FileID, Name: p.Name, Picture: chat.IsPicture(p.MediaType), Gone: true}}
	}
	out := attached(&f)
	out.Gone = f.Dropped
	return []view.Attached{out}
}

// rowBody gives what an opened row shows of a Result.
func rowBody(p *chat.Part) view.Body {
	var result struct {
		Content string
		Output  string
		Error   string
		Note    string
		Summary string

		Directory string
		Branch    string
		SetupLog  string `json:"setup_log"`
	}
	if err := json.Unmarshal(p.Result, &result); err != nil {
		return view.Body{Terminal: text.Terminal(string(p.Result))}
	}
	body := view.Body{Note: result.Note}
	switch p.ToolName {
	case "read_file":
		var d chat.ReadDetail
		if detail(p, &d) {
			body.Source = text.Source(d.Path, result.Content)
			return body
		}
	case "write_file", "edit_files":
		var d chat.ChangeDetail
		if detail(p, &d) {
			for _, f := range d.Files {
				body.Diffs = append(body.Diffs, text.Diff(f.Path, f.Diff)...)
			}
			return body
		}
	case "propose_plan":
		var d chat.PlanDetail
		if detail(p, &d) {
			body.Note, body.Prose = "", text.Prose(d.Plan)
			return body
		}
	case "spawn_agent", "wait_agent", "message_agent", "close_agent":
		var d chat.AgentDetail
		if detail(p, &d) {
			return agentBody(d)
		}
	case "create_workspace":
		if !p.IsError {
			body.Terminal = text.Terminal(result.SetupLog)
			body.Facts = strings.Join(nonEmpty(result.Directory, result.Branch), " · ")
			return body
		}
	case "execute":
		var d chat.ExecuteDetail
		if detail(p, &d) {
			return executeBody(body, d, result.Output, result.Error)
		}
	}
	switch {
	case result.Error != "":
		body.Note = result.Error
	case result.Summary != "":
		body.Note, body.Facts = result.Summary, result.Note
	case result.Output != "":
		body.Terminal = text.Terminal(result.Output)
	case result.Content != "":
		body.Terminal = text.Terminal(result.Content)
	default:
		body.Terminal = text.Terminal(indented(p.Result))
	}
	return body
}

func executeBody(body view.Body, d chat.ExecuteDetail, output, failure string) view.Body {
	if d.Output != "" {
		output = d.Output
	}
	body.Terminal = text.Terminal("$ " + d.Command + "\n" + output)
	if body.Note == "" {
		body.Note = failure
	}
	var said []string
	if d.TotalBytes > int64(len(output)) {
		said = append(said, view.Bytes(d.TotalBytes)+" in all")
	}
	if d.Log != "" {
		said = append(said, "the whole is in "+d.Log)
	}
	if d.Workdir != "" {
		said = append(said, "in "+d.Workdir)
	}
	body.Facts = strings.Join(said, " · ")
	return body
}

func nonEmpty(list ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func indented(raw json.RawMessage) string {
	b, err := json.MarshalIndent(raw, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(b)
}
