package view

import (
	"github.com/a-h/templ"

	"holdfast/ui/text"
)

func goldenSystem(hostile string) templ.Component {
	return templ.Join(SystemHealth(SystemPage{Path: "/d", Figures: []RunFact{{Name: "Database", Value: "1 MB"}}}), SystemHealth(SystemPage{Problem: hostile, Next: "Free some space.", Damages: []DamageRow{{What: hostile, Href: "/chats/c", Reason: hostile, Next: "Restore."}}}), DoctorLater("/system/doctor"), DoctorSection(DoctorList{Problem: "No."}), DoctorSection(DoctorList{Sum: "1 ok", Rows: []DoctorRow{{hostile, "ok", hostile, hostile}, {hostile, "warning", hostile, hostile}, {hostile, "failed", hostile, ""}, {hostile, "skipped", hostile, ""}}}),
		RunLogSection(RunLogForm{On: true}), RunLogSection(RunLogForm{}), SecretsSection(SecretsForm{}), SecretsSection(SecretsForm{Done: "3 secrets", Problem: "No."}))
}

func goldenAudit(hostile string) templ.Component {
	return templ.Join(AuditTable(AuditPage{More: "/audit?before=1", Rows: []AuditRow{{N: "2", When: "2 Jan, 15:04:05", ISO: "2026-01-02T15:04:05Z", Who: hostile, From: hostile, What: hostile, About: hostile, Failed: true,
		Facts: []RunFact{{Name: hostile, Value: hostile}}, Hash: "00"}, {N: "1", When: "1 Jan, 15:04:05", Who: "the appliance", What: "x"}}}), AuditTable(AuditPage{}), AuditTable(AuditPage{Filtered: true}),
		AuditChecked(AuditCheck{}), AuditChecked(AuditCheck{Looked: true, First: "1", Last: "2", Head: "00"}), AuditChecked(AuditCheck{Looked: true, Last: "0"}),
		AuditChecked(AuditCheck{Looked: true, Broken: []string{hostile}, Number: hostile, Hash: hostile, Problem: "No."}))
}

func goldenRuns(hostile string) templ.Component {
	return templ.Join(RunsTable(RunsPage{Runs: []RunRow{{Href: "/chats/c/runs/1", When: "2 Jan, 15:04:05", Purpose: "Turn", Model: hostile, In: "372", Out: "9", First: "0.1 s", Took: "2.0 s", State: "whole", Icon: "i-check", Tone: "ok"}},
		More: "/chats/c/runs?before=1", Left: "1 damaged entry cannot be shown."}), RunsTable(RunsPage{}),
		RunBody(RunPage{Run: RunRow{State: "failed", Icon: "i-fail"}, Problem: hostile, Reasoning: hostile, Answer: hostile, Calls: []RunCall{{Name: hostile, Args: text.Source("request.json", "1\t{}")}},
			Facts: []RunFact{{Name: "In all", Value: "2.0 s"}}, Attempts: []RunAttempt{{When: "15:04:05", Message: hostile, Next: "again after 1.0 s"}}, Reused: "All.",
			Parts: []RunPart{{Kind: "user", Begins: hostile, Tokens: "12", Size: "40 B", Share: 100}}, Request: text.Source("request.json", "1\t{\n2\t}"), Size: "1 KB", Exact: "/e"}))
}
