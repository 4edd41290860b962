package api_test

import (
	"testing"

	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

// checkNotifications sees every route about notifications, and leaves none behind.
func checkNotifications(t *testing.T, take func(step) []byte) {
	const all, settings, subscriptions = "/notifications", "/notifications/settings", "/notifications/subscriptions"
	take(step{name: "none yet", method: "GET", path: all, status: 200, has: []string{`{"notifications":[],"has_more":false,"unread":0}`}})
	for name, query := range map[string]string{"limit": "limit=0", "after_id": "after_id=x", "before_id": "before_id=-1"} {
		take(step{name: "bad " + name, method: "GET", path: all + "?" + query, status: 400, has: []string{`"field":"` + name + `"`}})
	}
	take(step{name: "crossed", method: "GET", path: all + "?after_id=5&before_id=5", status: 400, has: []string{`"field":"after_id"`}})
	take(step{name: "read none", method: "POST", path: all + "/read", body: `{"up_to":0}`, status: 204})
	take(step{name: "read less", method: "POST", path: all + "/read", body: `{"up_to":-1}`, status: 400, has: []string{`"field":"up_to"`}})

	take(step{name: "read one that is none", method: "POST", path: all + "/read", body: `{"id":-1}`, status: 400, has: []string{`"field":"id"`}})

	take(step{name: "told of all", method: "GET", path: settings, status: 200, has: []string{`{"finished":true,"failed":true,"action_required":true}`}})
	take(step{name: "mute", method: "PUT", path: settings, body: `{"finished":false,"failed":true}`, status: 204})
	take(step{name: "muted", method: "GET", path: settings, status: 200, has: []string{`{"finished":false,"failed":true,"action_required":true}`}})
	take(step{name: "mute what is not there", method: "PUT", path: settings, body: `{"sound":false}`, status: 400, has: []string{`"field":"sound"`}})
	take(step{name: "as ever", method: "PUT", path: settings, body: `{}`, status: 204})

	take(step{name: "reaches nobody", method: "GET", path: subscriptions, status: 200, has: []string{`"public_key":"`, `"outbound_mode":"ask"`, `"subscriptions":[]`}})
	take(step{name: "neither", method: "POST", path: subscriptions, body: `{"kind":"pigeon"}`, status: 400, has: []string{`"field":"kind"`}})
	take(step{name: "no browser", method: "POST", path: subscriptions, body: `{"kind":"browser","endpoint":"http://x"}`, status: 400, has: []string{`"field":"endpoint"`}})
	take(step{name: "no address", method: "POST", path: subscriptions, body: `{"kind":"webhook","url":"nas"}`, status: 400, has: []string{`"field":"url"`}})
	hook := take(step{name: "webhook", method: "POST", path: subscriptions, body: `{"kind":"webhook","name":"House","url":"http://nas.home:8080/in?key=hidden"}`, status: 201,
		has: []string{`"host":"nas.home"`, `"secret":"hfw_`, `"last_ok":null`, `"failed":"The appliance does not call nas.home:8080`}, hasNot: []string{"hidden"}})
	made := shown{ID: idOf(t, hook)}
	take(step{name: "one", method: "GET", path: subscriptions, status: 200, has: []string{`"name":"House"`}, hasNot: []string{"hidden", "secret"}})
	take(step{name: "try", method: "POST", path: subscriptions + "/" + made.ID + "/try", status: 200, has: []string{`"failures":1`, `"failed":"The appliance does not call`}})
	take(step{name: "try none", method: "POST", path: subscriptions + "/x/try", status: 404})
	take(step{name: "remove", method: "DELETE", path: subscriptions + "/" + made.ID, status: 204})
	take(step{name: "remove none", method: "DELETE", path: subscriptions + "/" + made.ID, status: 404, has: []string{`"kind":"not_found"`}})
}

// TestNotificationsAreListedAndRead drives Turns that finish and fail, and reads of them through the typed client, over a restart too.
func TestNotificationsAreListedAndRead(t *testing.T) {
	scripts := []scripted.Script{
		{User: "finish", Reply: scripted.Text("The build passes now.")},
		{User: "fail", Reply: scripted.Reply{Status: 404, Error: "model gone"}},
	}
	dir := t.TempDir()
	a := apitest.Start(t, apitest.Options{Dir: dir, Scripts: scripts})
	say := func(text string) chat.ID {
		t.Helper()
		c, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text(text)})
		if err != nil {
			t.Fatal(err)
		}
		return c.ID
	}
	// until waits for so many Notifications: they are told after the Turn's summary.
	until := func(n int) client.Notifications {
		t.Helper()
		for {
			got, err := a.Client.Notifications(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Notifications) >= n {
				return got
			}
		}
	}
	finished := say("finish")
	first := until(1).Notifications[0]
	if first.ChatID != finished || first.Kind != chat.NoticeFinished || first.Body != "The build passes now." || first.Read || first.URL != "/chats/"+string(finished) {
		t.Errorf("%+v", first)
	}
	off := false
	if err := a.Client.UpdateNotificationSettings(t.Context(), client.NotificationSettingsUpdate{Failed: &off}); err != nil {
		t.Fatal(err)
	}
	failed := say("fail")
	all := until(2)
	if all.Unread != 2 || all.HasMore || all.Notifications[0].ChatID != failed || all.Notifications[0].Kind != chat.NoticeFailed || all.Notifications[1].ID != first.ID {
		t.Errorf("%+v", all)
	}
	if one, err := a.Client.Notifications(t.Context(), 1); err != nil || len(one.Notifications) != 1 || !one.HasMore {
		t.Errorf("%+v, %v", one, err)
	}
	if later, err := a.Client.NotificationsAfter(t.Context(), first.ID); err != nil || len(later.Notifications) != 1 || later.Notifications[0].ChatID != failed {
		t.Errorf("%+v, %v", later, err)
	}
	if err := a.Client.ReadNotifications(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	a.Stop(t)
	a = apitest.Start(t, apitest.Options{Dir: dir, Scripts: scripts})
	all = until(2)
	if all.Unread != 1 || all.Notifications[0].Read || !all.Notifications[1].Read || all.Notifications[1].Body != first.Body {
		t.Errorf("after a restart: %+v", all)
	}
	if s, err := a.Client.NotificationSettings(t.Context()); err != nil || s.Failed || !s.Finished || !s.ActionRequired {
		t.Errorf("%+v, %v", s, err)
	}
	_, token := a.AddUser(t, "somebody", chat.UserMember)
	if other, err := a.As(t, token).Notifications(t.Context(), 0); err != nil || len(other.Notifications) != 0 {
		t.Errorf("another person has %+v, %v", other, err)
	}
	archived := true
	if err := a.Client.UpdateChat(t.Context(), failed, client.ChatUpdate{Archived: &archived}); err != nil {
		t.Fatal(err)
	}
	if err := a.Client.DeleteChat(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	if all = until(1); len(all.Notifications) != 1 || all.Notifications[0].ChatID != finished || all.Unread != 0 {
		t.Errorf("a chat that is gone left %+v", all)
	}
}

// TestOneNotificationIsRead by itself, while an older one stays unread.
func TestOneNotificationIsRead(t *testing.T) {
	a := apitest.Start(t, apitest.Options{Scripts: []scripted.Script{{User: "finish", Reply: scripted.Text("The build passes now.")}}})
	until := func(n int) client.Notifications {
		t.Helper()
		for {
			got, err := a.Client.Notifications(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Notifications) >= n {
				return got
			}
		}
	}
	for range 2 {
		if _, err := a.Client.CreateChat(t.Context(), client.ChatCreate{Content: client.Text("finish")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Client.ReadNotification(t.Context(), until(2).Notifications[0].ID); err != nil {
		t.Fatal(err)
	}
	if all := until(2); all.Unread != 1 || !all.Notifications[0].Read || all.Notifications[1].Read {
		t.Errorf("%+v", all)
	}
}
