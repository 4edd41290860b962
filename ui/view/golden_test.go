package view

import (
	"flag"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/chat"
	"holdfast/ui/text"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden compares components with testdata/NAME.html.
func TestGolden(t *testing.T) {
	hostile := `</pre></body><script>alert("x")</script>` + "\r'\x00"
	// What the engine lets be a name has no control characters.
	const tags = `"><script>alert("x")</script>`
	tests := map[string]templ.Component{
		"ask":     AskItem(Ask{ID: 7, ChatID: "c", Text: hostile, Day: "Today, 20 November", Time: "14:06", ISO: "2026-11-20T14:06:00Z", Restore: 1, Refs: []Ref{{Icon: "i-file", Label: "a.go"}}}),
		"edit":    templ.Join(Editor(Edit{ID: 7, ChatID: "c", Text: hostile + "\n\n</textarea>", Key: "k", Queued: 1, Refs: 2}), QueueEditor(QueueEdit{ID: 7, ChatID: "c", Text: hostile + "\n\n</textarea>", Refs: 2, FileIDs: "f g"}), QueueEditor(QueueEdit{ID: 8, ChatID: "c", Text: "t"})),
		"rules":   RulesSection(RulesForm{Post: "/rules", Default: "ask", Dirty: true, Rules: []RuleRow{{Effect: "deny", Tool: hostile, What: "command", Text: hostile, Error: hostile}}, Try: RuleTry{Tool: "execute", Text: hostile}, Tried: &RuleTried{Effect: "deny", Rule: hostile, From: "the site", Why: hostile, Target: hostile}}),
		"archive": ArchiveList(Archived{More: 200, Rows: []ArchivedChat{{ID: "c", Title: hostile, Summary: hostile, When: "now"}, {ID: "d", Title: "t", When: "Mon", Stopping: true}}}),
		"ask-files": AskItem(Ask{ID: 8, ChatID: "c", Time: "14:06", Files: []Attached{{ID: "a", Name: hostile, URL: "/files/a", Size: "1 KB", Picture: true, Note: hostile},
			{ID: "b", Name: hostile, URL: "/files/b", Size: "2 KB"}, {ID: "d", Name: "gone.txt", Gone: true}}, Refs: []Ref{{Icon: "i-file", Label: hostile, Source: text.Source("a.go", "3\t"+hostile)}}}),
		"attachments": templ.Join(Attachments([]Attached{{ID: "a", Name: hostile, URL: "/files/a", Size: "1 KB", Picture: true}, {ID: "b", Name: "b.txt", URL: "/files/b", Size: "2 KB"}}, []string{hostile}, hostile), PathChoices([]string{hostile, "a/b.go"}, ""), PathChoices(nil, ""), FileRefused(hostile, hostile)),
		"step": StepItem(Step{N: 3, ChatID: "c", Parts: []Part{{Reasoning: &Reasoning{Took: "2 s", Blocks: text.Prose("Hm.")}}, {Prose: text.Prose("One.\n\n```go\nx := 1\n```")},
			{Refs: []Ref{{Icon: "i-compass", Label: hostile, URL: "https://example.org/\"><b>"}, {Icon: "i-compass", Label: "x", URL: "javascript:alert(1)"}, {Icon: "i-wrench", Label: "review"}}},
			{Rows: []Row{{N: 0, Kind: RowRead, Path: "a/b.go", Out: "lines 1–9", Took: "0.1 s", Fetch: "/chats/c/rows/9/x"}, {N: 1, Kind: RowRun, State: RowWaits, Target: hostile, Out: "waits for you", Ask: &Approval{Post: "/chats/c/approvals/x", Command: hostile, Directory: hostile, Workspace: hostile,
				Asked: Asked{Why: hostile, Again: hostile, Targets: []AskedTarget{{Path: hostile, Note: "protected"}}, Sandbox: hostile, Offer: []string{hostile}, Always: true, Shown: "7", Diffs: text.Diff("a.go", "--- a.go\n+++ a.go\n@@ -1 +1 @@\n-"+hostile+"\n+x\n")}}}}}},
			Note: "Interrupted by you", Meta: &Meta{Facts: []string{"m:1b", "19 s"}}}),
		"advice": StepItem(Step{N: 5, ChatID: "c", Parts: []Part{{Advice: &Advice{Question: hostile, Blocks: text.Prose(hostile), Facts: []string{hostile, "2 uses left"}}},
			{Advice: &Advice{State: AdviceRunning, Question: "q", Wait: "Loading " + hostile, Since: 5, Facts: []string{"loading it was not measured yet"}}},
			{Advice: &Advice{State: AdviceLimit, Said: hostile, Settings: true}}}}),
		"draft-empty": StepItem(DraftStep(Draft{Step: 4, ChatID: "c"})),
		"mark":        MarkItem(Mark{ID: 9, Icon: "i-fold", Text: "Compacted"}),
		"row-tail":    RowItem(1, Row{N: 2, Kind: RowRun, State: RowRunning, Target: "make", Out: "running", Since: 1, Fetch: "/f", Tail: &Tail{Output: "1\n2\n3\n4\n5\n6\n7\n", Facts: "7 lines", Stop: "/stop"}}),
		"row-body":    RowBody(Body{Note: hostile, Terminal: text.Terminal(hostile), Source: text.Source("a.go", "1\tpackage a"), Diffs: text.Diff("a.go", "@@ -1 +1 @@\n-a\n+b\n"), Facts: "2 KB left out"}),
		"failure":     RestNote(Rest{ChatID: "c", Failure: &Failure{Kind: chat.KindOutOfMemory, Message: hostile, Detail: "It needs 67 GB.", ID: "0197"}, Queued: 2}),
		"rest":        RestNote(Rest{ChatID: "c", Reason: "interrupted", Queued: 1}),
		"rest-none":   RestNote(Rest{}),
		"cards": templ.Join(cardItem(3, 0, Card{Question: &Questions{Post: "/chats/c/questions/x", List: []Question{{Text: hostile, Options: []QuestionOption{{Label: hostile, Note: "n"}, {Label: "b"}}}}}}),
			cardItem(3, 1, Card{Question: &Questions{Post: "/chats/c/questions/y", List: []Question{{Header: hostile, Text: "One?", Options: []QuestionOption{{Label: "a"}, {Label: hostile}}}, {Text: "Two?", Multiple: true, Options: []QuestionOption{{Label: "a", Note: hostile}, {Label: "b"}}}}}}),
			cardItem(3, 2, Card{Plan: &Plan{Post: "/chats/c/plans/x", Path: "p.md", Blocks: text.Prose("# Plan\n" + hostile)}}),
			cardItem(3, 3, Card{Client: &ClientCall{Tool: "ring", Args: hostile, Until: 5, Interrupt: "/chats/c/interrupt"}})),
		"agents": AgentsPanel(Agents{List: []Agent{{ID: "k", Title: hostile, Kind: "only reads", State: ChatRunning, Out: "running", Since: 5},
			{ID: "l", Title: "t", State: ChatWaiting, Out: "waits for you", Since: 6, Cards: []Approval{{Post: "/chats/l/approvals/x", Command: hostile, Directory: "/w", Agent: hostile, PlanMode: true, Tool: "process_output"}}}}}),
		"agents-none": AgentsPanel(Agents{}),
		"dock": ChatDock(Dock{ChatID: "c", Key: "k", Running: true, Phase: Phase{Icon: "i-clock", Warn: true, Name: "Retrying", Text: "attempt 2 of 25", Until: 5}, Queue: []Queued{{ID: 4, Text: hostile}},
			Models: []Option{{Value: "a", Label: "m:1b", Selected: true}}, Meter: Meter{Used: 100, Limit: 1000, CompactAt: 70, Parts: []MeterPart{{Name: "Messages", Tokens: 100, Tone: "p1"}}}}),
		"chats": ChatsList(ChatList{Listed: 200, More: 300, Groups: []ChatGroup{{Name: "Today", Rows: []ChatRow{{ID: "c", Title: hostile, Summary: "s", When: "now", State: ChatWaiting, Adds: 1, Here: true, Unread: true}}}}}),
		"hits": SearchHits(Hits{Query: "TIDE", Rows: []ChatRow{{ID: "c", Title: "The tide table", Query: "TIDE"},
			{ID: "d", Anchor: "m-7", Title: hostile, Labels: []string{hostile, "k=v"}, Summary: "… a hightide:tidelike, riptide and parse_Tide", Query: "TIDE"}}, Searched: 3, More: 200, Unreadable: 1}),
		"usage-plots": templ.Join(TokensPlot(goldenColumns(), "day"), TimePlot(goldenColumns(), "day"), usageFigures(UsagePage{Sum: goldenColumns()[0].Sum}),
			usageTable("By chat", "Chat", []UsageRow{{Name: hostile, Href: "/chats/c", Sum: goldenColumns()[1].Sum}}, 2), sharesPlot("Tokens by model", []UsageRow{{Name: hostile, Sum: goldenColumns()[0].Sum}})),
		"usage-limits": templ.Join(LimitsSection(LimitsForm{Rows: []LimitRow{{Who: "default", Name: "Everybody", Period: "month", Cost: "1.50"}, {Who: "user u", Name: hostile, Base: "as the role"}}}),
			AllowanceSection(Allowance{Period: "week", Standing: chat.UsageStanding{SpentMicros: 5, LimitMicros: 5, SpentTokens: 1, LimitTokens: chat.NoLimit}})),
		"system": goldenSystem(hostile),
		"audit":  goldenAudit(hostile),
		"runs":   goldenRuns(hostile),
		"people": PeopleList([]Person{{ID: "a", Name: tags, Admin: true, Self: true, Added: "1 May", Seen: "today, 10:00"}, {ID: "b", Name: "Jo", Disabled: true, Password: true, Added: "2 May"}}),
		"person": PersonPanel(PersonPage{Person: Person{ID: "b", Name: tags, Added: "2 May"}, Sessions: []Session{{ID: "s", Browser: tags, Since: "1 May", Used: "2 May", Ends: "1 June"}},
			Tokens: []Token{{ID: "t", Name: tags, Created: "1 May"}}}),
		"person-disabled": PersonPanel(PersonPage{Person: Person{ID: "b", Name: "Jo", Disabled: true, Added: "2 May"}}),
		"person-last":     PersonPanel(PersonPage{Person: Person{ID: "a", Name: "Al", Admin: true, Last: true, Self: true, Added: "1 May"}}),
		"person-link":     FreshLink(SignInLink{Name: tags, URL: "http://h/login?code=x", Until: "10:00"}),
		"own":             templ.Join(OwnPassword(true, true, tags), OwnSessions([]Session{{ID: "s", Since: "1 May", Used: "2 May", Ends: "1 June", Current: true}})),
		"login-password":  LoginDocument(LoginPage{Page: Page{Title: "Sign in", Assets: func(n string) string { return "/static/" + n }}, Host: "pier-box", ByName: true, Name: hostile, Problem: tags}),
		"login":           LoginDocument(LoginPage{Page: Page{Title: "Sign in", Assets: func(n string) string { return "/static/" + n }}, Host: "pier-box", Code: `"><b>`}),
	}
	maps.Copy(tests, modelGoldens(hostile))
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			got := markup(t, c) + "\n"
			if strings.ContainsAny(got, "\r\x00") {
				t.Error("a carriage return or a NUL is in the page")
			}
			file := "testdata/" + name + ".html"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != got {
				t.Errorf("%s differs (-update writes it):\n%s", file, got)
			}
		})
	}
}

func TestWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 96: "96", 999: "999", 1000: "1k", 4600: "4.6k", 18_400: "18.4k", 131_072: "131.1k", 2_000_000: "2M"} {
		if got := Tokens(n); got != want {
			t.Errorf("Tokens(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{4096: "4k", 32768: "32k", 131072: "131k", 262144: "262k", 8000: "8k"} {
		if got := Window(n); got != want {
			t.Errorf("Window(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 640_000: "640 KB", 1_500_000: "1.5 MB", 18_600_000_000: "18.6 GB", 274_000_000: "274 MB", 999_999: "1.0 MB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0.0 s", 100 * time.Millisecond: "0.1 s", 12 * time.Second: "12 s", 124 * time.Second: "2 m 04 s", 18 * time.Minute: "18 min", 185 * time.Minute: "3 h 05 m", -1: ""} {
		if got := Took(d); got != want {
			t.Errorf("Took(%v) = %s, want %s", d, got, want)
		}
	}
	for want, got := range map[string]string{"1 file": Count(1, "file"), "3 files": Count(3, "file"), "0 matches": Count(0, "match"), "6 entries": Count(6, "entry")} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := js("/a'b\\</script>\u2028😀"); got != `'/a\u0027b\u005c\u003c/script\u003e\u2028\ufffd'` {
		t.Errorf("js: %s", got)
	}
	if dir, base := splitPath("a/b/c/"); dir != "a/b/" || base != "c/" {
		t.Errorf("splitPath: %q %q", dir, base)
	}
	if !Join(&Step{Parts: []Part{{Rows: []Row{{}}}}}, &Step{Parts: []Part{{Rows: []Row{{}}}}}) || Join(&Step{Parts: []Part{{Rows: []Row{{}}}}}, &Step{Parts: []Part{{Prose: text.Prose("x")}}}) || Join(nil, nil) {
		t.Error("Join")
	}
}
