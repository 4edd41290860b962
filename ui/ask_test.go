package ui

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/view"
)

const twoQuestions = `{"questions":[{"question":"How long?","options":[{"label":"6 hours"},{"label":"1 day"}]},` +
	`{"header":"Pages","question":"Which?","multiple":true,"options":[{"label":"one"},{"label":"two"}]}]}`

func asking(kind chat.AskingKind, call string) *chat.Chat {
	return &chat.Chat{ID: "c", State: chat.Waiting, PlanMode: "plan", Turn: chat.Turn{Asks: &chat.Asking{Kind: kind, CallID: call}}}
}

func answeredCall(tool, args, result, detail string) []*chat.Message {
	return []*chat.Message{message(2, chat.RoleAssistant, 1, call("a", tool, args)),
		message(3, chat.RoleTool, 1, chat.Part{Type: chat.PartToolResult, CallID: "a", ToolName: tool, Result: json.RawMessage(result), Detail: json.RawMessage(detail)})}
}

func TestAQuestionHasItsCardUntilItIsAnswered(t *testing.T) {
	msgs := answeredCall("ask_user_question", twoQuestions, `{"asked":2}`, "")
	row := entriesOf(asking(chat.AskingQuestion, "a"), msgs...)[0].Step.Parts[0].Rows[0]
	if row.Card == nil || row.Card.Question == nil || len(row.Card.Question.List) != 2 || row.State != view.RowWaits || row.Card.Question.Post != "/chats/c/questions/a" ||
		row.Target != "How long?" || row.In != "and 1 more question" {
		t.Errorf("%+v", row)
	}
	gone := asking(chat.AskingQuestion, "a")
	gone.State = chat.Pending
	for _, c := range []*chat.Chat{gone, asking(chat.AskingQuestion, "b"), {ID: "c", State: chat.Waiting}, {ID: "c", State: chat.Waiting, Archived: true, Turn: asking(chat.AskingQuestion, "a").Turn}} {
		if row := entriesOf(c, msgs...)[0].Step.Parts[0].Rows[0]; row.Card != nil || row.State != view.RowDone || row.Out != "shown to you" {
			t.Errorf("%+v", row)
		}
	}
}

// TestAWaitingRowSaysWhatIsAsked: the list names what the first open card asks for, not always a command.
func TestAWaitingRowSaysWhatIsAsked(t *testing.T) {
	open := func(name string) chat.OutstandingCall {
		return chat.OutstandingCall{Kind: chat.OutstandingApproval, Call: chat.Call{ID: name, Name: name}}
	}
	answered, client, setup := open("edit_files"), open("editor_open"), open("create_workspace")
	answered.Decision, client.Kind, setup.Command = "allow", chat.OutstandingClient, "make"
	for want, calls := range map[string][]chat.OutstandingCall{
		"Asks to run a command":                  {answered, open("execute"), open("tides__ring")},
		"Asks to use tides__ring":                {client, open("tides__ring"), open("execute")},
		"Asks to make a workspace and set it up": {setup},
		"Waits for the program that made it":     {answered, client},
	} {
		if row := chatRow(&chat.Chat{ID: "c", State: chat.RequiresAction, Outstanding: calls}, time.Now()); row.Summary != want || row.State != view.ChatWaiting {
			t.Errorf("%q, want %q", row.Summary, want)
		}
	}
}

// TestAForkSaysThatNothingWasAskedInIt: until its first Turn there is nothing that could be summed up.
func TestAForkSaysThatNothingWasAskedInIt(t *testing.T) {
	c := &chat.Chat{ID: "c", State: chat.Waiting}
	if row := chatRow(c, time.Now()); row.Summary != "Nothing was asked here yet" {
		t.Errorf("%q", row.Summary)
	}
	if c.Turn.UserMessage = 7; chatRow(c, time.Now()).Summary != "" {
		t.Error("it says so of a chat that was asked")
	}
}

// TestWhatATurnWentOnWithout is said of a Turn that runs as it was when it began, and of one that is over as what was.
func TestWhatATurnWentOnWithout(t *testing.T) {
	for state, want := range map[chat.State]string{chat.Running: "This turn began without all of its context|It is away. This turn goes on without it.",
		chat.Waiting: "The last turn began without all of its context|It is away. It went on without it."} {
		var html strings.Builder
		c := &chat.Chat{ID: "c", State: state, Turn: chat.Turn{Warnings: []string{"It is away. This turn goes on without it."}}}
		if err := view.RestNote(rest(c)).Render(t.Context(), &html); err != nil {
			t.Fatal(err)
		}
		title, words, _ := strings.Cut(want, "|")
		if !strings.Contains(html.String(), ">"+title+"<") || !strings.Contains(html.String(), ">"+words+"<") {
			t.Errorf("%s: %s", state, html.String())
		}
	}
}

func TestAPlanIsShownAsItWas(t *testing.T) {
	row := entriesOf(asking(chat.AskingPlan, "a"), answeredCall("propose_plan", `{"path":"p.md"}`, `{"path":"p.md"}`, `{"path":"p.md","plan":"# Do it\n<script>x</script>"}`)...)[0].Step.Parts[0].Rows[0]
	if row.Card == nil || row.Card.Plan == nil || row.Card.Plan.Post != "/chats/c/plans/a" {
		t.Fatalf("%+v", row)
	}
	var html strings.Builder
	for _, b := range row.Card.Plan.Blocks {
		html.WriteString(string(b.HTML))
	}
	if strings.Contains(html.String(), "<script") || !strings.Contains(html.String(), "Do it") {
		t.Error(html.String())
	}
}

func TestChoicesBecomeOneMessage(t *testing.T) {
	two, err := chat.Questions(json.RawMessage(twoQuestions))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		questions []chat.Question
		form      string
		want      string
	}{
		"a press":            {two[:1], "q0=0", "6 hours"},
		"own words":          {two[:1], "other0=+3+tides+", "3 tides"},
		"a press wins":       {two[:1], "q0=1&other0=half", "1 day"},
		"several":            {two, "q0=0&q1=0&q1=1&other1=three", "How long? 6 hours\nWhich? one, two, three"},
		"one is missing":     {two, "q0=0", ""},
		"no such option":     {two[:1], "q0=7", ""},
		"not a number":       {two[:1], "q0=-1", ""},
		"nothing but spaces": {two[:1], "other0=+", ""},
	} {
		form, err := url.ParseQuery(c.form)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := answerText(c.questions, form); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestSubAgentsAtWorkStandOnThePage(t *testing.T) {
	space := &chat.WorkspaceRecord{Name: "w", Directory: "/src/w"}
	v := engine.View{Chat: &chat.Chat{ID: "r"}, Workspace: space, Children: []*chat.Chat{
		{ID: "done", Title: "done", State: chat.Waiting}, {ID: "run", Title: "run", State: chat.Running, AgentType: chat.AgentExplore},
		{ID: "ask", Title: "ask", State: chat.RequiresAction, Outstanding: []chat.OutstandingCall{{Kind: chat.OutstandingApproval,
			Call: chat.Call{ID: "x", Name: "execute", Args: json.RawMessage(`{"command":"make"}`)}}}}}}
	got := agentsView(v)
	if len(got.List) != 2 || got.List[0].Kind != "only reads" || got.List[1].State != view.ChatWaiting || len(got.List[1].Cards) != 1 {
		t.Fatalf("%+v", got)
	}
	if card := got.List[1].Cards[0]; card.Post != "/chats/ask/approvals/x" || card.Agent != "ask" || card.Command != "make" || card.Directory != "/src/w" {
		t.Errorf("%+v", card)
	}
	before := familyMark(v)
	v.Children[1].Version++
	if familyMark(v) == before || before == "" {
		t.Errorf("mark %q", before)
	}
	now := time.Now()
	if rows := childRows(v.Children, false, "r2", now); len(rows) != 2 || !rows[0].Sub {
		t.Errorf("%+v", rows)
	}
	if rows := childRows(v.Children, false, "done", now); len(rows) != 3 || !rows[0].Here {
		t.Errorf("%+v", rows)
	}
}
