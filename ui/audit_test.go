package ui

import (
	"testing"
	"time"

	"holdfast/engine/audit"
	"holdfast/engine/chat"
)

func TestAnAuditRecordNamesWhoActed(t *testing.T) {
	for want, c := range map[string]struct {
		record audit.Record
		owner  string
	}{
		"jo":                             {audit.Record{Audit: chat.Audit{UserID: "u1", UserName: "jo"}}, "jo"},
		"a chat of jo":                   {audit.Record{Audit: chat.Audit{UserID: "u1"}}, "jo"},
		"a chat of somebody who is gone": {audit.Record{Audit: chat.Audit{UserID: "u1"}}, ""},
		"somebody":                       {audit.Record{Audit: chat.Audit{Action: chat.AuditSignInRefused}}, ""},
		"the appliance":                  {audit.Record{}, ""},
	} {
		if got := auditRow(c.record, c.owner, time.Now()).Who; got != want {
			t.Errorf("%+v of %q: %q, want %q", c.record, c.owner, got, want)
		}
	}
}
