package gallery

import (
	"github.com/a-h/templ"

	"holdfast/ui/view"
)

func auditPage(p view.Page) view.AuditPage {
	const hash = "9f2c4e1ab0d37c55f01e6ac2be7d884013aa95de7c60b1f2e4d38a6619c0b7f5"
	row := func(n, when, who, from, what string) view.AuditRow {
		return view.AuditRow{N: n, When: when, ISO: "2026-11-20T14:31:08Z", Who: who, From: from, What: what, Hash: hash}
	}
	ran := row("814", "20 Nov, 14:31:08", "a chat of owner", "", "a tool ran")
	ran.About = "01932f5e-7c3a-7cc1-9a51-2f6f1c0d8e11"
	ran.Facts = []view.RunFact{{Name: "arguments sha256", Value: hash[:16] + "…"}, {Name: "call", Value: "call_7f3a"}, {Name: "tool", Value: "execute"}}
	changed := row("813", "20 Nov, 14:20:51", "Ingrid", "192.168.7.20", "changed a person")
	changed.About, changed.Facts = "01932f5e-0000-7cc1-9a51-2f6f1c0d8e11", []view.RunFact{{Name: "role", Value: "admin"}}
	pulled := row("812", "20 Nov, 14:02:10", "Ingrid", "socket", "pulled a model")
	pulled.Failed = true
	return view.AuditPage{Page: p, Note: note(), Groups: []view.Option{{Label: "Everything", Selected: true}, {Value: "people", Label: "People and tokens"}},
		People: []view.Option{{Label: "By everybody"}, {Value: "a", Label: "Ingrid"}}, More: "/gallery/", Rows: []view.AuditRow{ran, changed, pulled,
			row("811", "20 Nov, 13:58:00", "somebody", "2001:db8:7::/64", "a sign-in was refused"), row("810", "31 Dec 2025, 09:00:00", "the appliance", "", "what had its time was removed")},
		Check: view.AuditCheck{Looked: true, First: "1", Last: "814", Head: hash}}
}

// auditChecks are what a check may find.
func auditChecks() []specimen {
	return []specimen{
		{"Broken", "", []templ.Component{view.AuditChecked(view.AuditCheck{Looked: true, Number: "812", Hash: "9f2c", Broken: []string{"records 4 to 4 are missing in front of it",
			"the tail of the audit was cut: records 811 to 814 are missing"}})}},
	}
}
