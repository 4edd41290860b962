package api_test

import (
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

func checkAudit(take func(step) []byte) {
	take(step{name: "audit", method: "GET", path: "/audit?limit=1", status: 200, has: []string{`"records":[{"id":`, `"sha256":"`}})
	take(step{name: "audit of nobody", method: "GET", path: "/audit?user_id=0190a000-0000-7000-8000-00000000dead", status: 200, has: []string{`"records":[]`, `"has_more":false`}})
	take(step{name: "audit limit", method: "GET", path: "/audit?limit=201", status: 400, has: []string{`"field":"limit"`}})
	take(step{name: "audit cursor", method: "GET", path: "/audit?before_id=x", status: 400, has: []string{`"field":"before_id"`}})
	take(step{name: "audit group", method: "GET", path: "/audit?group=x", status: 400, has: []string{`"field":"group"`}})
	take(step{name: "rotate", method: "POST", path: "/system/secrets/rotate", status: 200, has: []string{`"secrets":`}})
	take(step{name: "check", method: "GET", path: "/audit/check", status: 200, has: []string{`"first":1`, `"broken":[]`}})
	take(step{name: "check a bad hash", method: "GET", path: "/audit/check?number=1&sha256=00", status: 400, has: []string{`"field":"sha256"`}})
}

// TestTheAuditSaysWhoDidWhat goes through the front door: what an admin does is there, with no secret, page by page, for admins alone.
func TestTheAuditSaysWhoDidWhat(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	ctx := t.Context()
	const password = "correct horse battery canary"
	person, err := a.Client.CreateUser(ctx, client.UserCreate{Name: "Jonas", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	admin := chat.UserAdmin
	if _, err := a.Client.UpdateUser(ctx, person.ID, client.UserUpdate{Role: &admin}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Client.CreateToken(ctx, client.TokenCreate{Name: "editor", UserID: person.ID}); err != nil {
		t.Fatal(err)
	}
	var all []client.AuditRecord
	for q := (client.AuditQuery{Limit: 1, Group: "people"}); ; {
		page, err := a.Client.Audit(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Records...)
		if !page.HasMore {
			break
		}
		q.BeforeID = page.BeforeID
	}
	want := []struct{ action, object, fact, value string }{{"account.CreateToken", string(person.ID), "name", "editor"},
		{"account.UpdateUser", "", "role", "admin"}, {"account.CreateUser", string(person.ID), "password", "set"}}
	if len(all) < len(want) {
		t.Fatalf("%+v", all)
	}
	for i, w := range want {
		r := all[i]
		if r.Action != w.action || w.object != "" && r.Object != w.object || r.Facts[w.fact] != w.value || r.UserName == "" || r.Source == "" || r.RequestID == "" || len(r.SHA256) != 64 {
			t.Errorf("%+v, want %+v", r, w)
		}
	}
	check, err := a.Client.CheckAudit(ctx, all[0].ID, all[0].SHA256)
	if err != nil || len(check.Broken) > 0 || check.Last < all[0].ID {
		t.Errorf("%+v, %v", check, err)
	}
	if check, err = a.Client.CheckAudit(ctx, all[0].ID, all[1].SHA256); err != nil || len(check.Broken) != 1 {
		t.Errorf("another hash: %+v, %v", check, err)
	}
}
