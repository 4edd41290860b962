package gallery

import (
	"github.com/a-h/templ"

	"holdfast/ui/view"
)

// notifications are the states of how a person hears of their chats.
func notifications() []specimen {
	all := []view.NoticeTarget{
		{ID: "1", Name: "Firefox on Linux", Host: "updates.push.services.example.net", Last: "22 Nov 14:31"},
		{ID: "2", Name: "Chrome on Android", Host: "push.example.com", Failed: "The appliance does not call push.example.com:443. An admin must allow it first, on the page System, Outbound."},
		{ID: "3", Name: "House", Host: "nas.home", Hook: true, Failed: "It answered with status 502.", Failures: 12},
		{ID: "4", Name: "Build lamp", Host: "192.168.1.40", Hook: true, Tried: true, Last: "22 Nov 14:32"},
		{ID: "5", Name: "Edge on Windows", Host: "push.example.org"},
	}
	var here []templ.Component
	for _, s := range []view.PushState{view.PushAble, view.PushOn, view.PushDenied, view.PushInsecure, view.PushUnsupported, view.PushUnreachable} {
		here = append(here, view.PushHere(s))
	}
	told := view.NoticeList{Unread: 2, Rows: []view.NoticeRow{
		{Number: "6", State: view.ChatWaiting, Chat: "1", Title: "Make the fetcher retry", Body: "Waits for you: execute", When: "14:32", ISO: "2026-11-20T14:32:00Z"},
		{Number: "5", State: view.ChatResting, Chat: "2", Title: "A title that is far longer than any line of this list can be, since a person wrote a whole sentence into it and another one behind it",
			Body: "The fetcher keeps its last good reading for a day, and says so on the page of the station, in the log, and in the feed that others read.", When: "14:06", ISO: "2026-11-20T14:06:00Z"},
		{Number: "4", State: view.ChatFailed, Chat: "3", Title: "Tide tables", Body: "The model server at 127.0.0.1:11434 does not answer.", When: "Mon", ISO: "2026-11-16T09:00:00Z", Read: true},
		{Number: "3", State: view.ChatResting, Chat: "1", Title: "Make the fetcher retry", Body: "All tests pass.", When: "2 Nov", ISO: "2026-11-02T09:00:00Z", Read: true}}}
	fixed := told
	fixed.Fixed = true
	return []specimen{
		{"What you were told: nothing, failed", "", []templ.Component{view.NoticesTold(view.NoticeList{}), view.NoticesTold(view.NoticeList{Problem: "The store was busy for 5 s. Nothing is lost."})}},
		{"Two of four unread, and for a token that only reads", "", []templ.Component{view.NoticesTold(told), view.NoticesTold(fixed)}},
		{"What you hear of: some, refused, fixed", "", []templ.Component{view.NoticeKinds(view.NoticeKindsForm{Asks: true, Finished: true}), view.NoticeKinds(view.NoticeKindsForm{Asks: true, Error: "The appliance only reads at the moment: its disk is full."}),
			view.NoticeKinds(view.NoticeKindsForm{Asks: true, Failed: true, Fixed: true})}},
		{"This browser: able, on, denied, insecure, unsupported, unreachable", "", here},
		{"Nobody, offline", "", []templ.Component{view.NotificationsBody(view.NotificationsPage{Offline: true})}},
		{"Browsers and webhooks", "", []templ.Component{view.NotificationsBody(view.NotificationsPage{Reached: all})}},
		{"A new webhook, refused input", "", []templ.Component{view.NotificationsBody(view.NotificationsPage{Hook: view.HookForm{Secret: "hfw_3f9k2J7wQe0mYb1nVc5xZr8tLs4uPd6aGh2jKq9oEiT"}}),
			view.NotificationsBody(view.NotificationsPage{Problem: "The push service does not know this browser any more; it was removed. Add it again.",
				Hook: view.HookForm{Name: "House", URL: "nas.home", Error: "An address that begins with http:// or https://."}})}},
	}
}

// turnForms are the settings of how Turns go.
func turnForms() []specimen {
	return []specimen{
		{"Saved, for members", "", []templ.Component{view.PlanningSection(view.PlanningForm{Text: "Name the files, the order of the edits and the test that proves each.", Saved: true}),
			view.BehaviourSection(view.BehaviourForm{Turns: "2", Steps: "0", Deadline: "300", Runtime: "3600", Roots: "/srv/notes\n/opt/handbook", Resume: true, Fixed: true}), view.PlanningSection(view.PlanningForm{Fixed: true})}},
		{"Set by the configuration file", "", []templ.Component{view.PlanningSection(view.PlanningForm{Text: "Name the files.", Fixed: true, ByFile: true}),
			view.BehaviourSection(view.BehaviourForm{Turns: "2", Steps: "0", Deadline: "300", Runtime: "3600", Resume: true, Fixed: true, ByFile: true}),
			view.SummariesSection(view.SummariesForm{Enabled: true, Fixed: true, ByFile: true})}},
		{"A model for summaries", "", []templ.Component{view.CompactionSection(view.CompactionForm{Models: []view.Option{{Value: "own", Label: "The chat’s own model"}, {Value: "s", Label: "scribe · scribe:4b", Selected: true}},
			Cost: view.SwapCost{Text: "In memory now, beside what chats use."}, Saved: true})}},
		{"Refused input", "", []templ.Component{view.PlanningSection(view.PlanningForm{Text: "Too long", Error: "At most 16 KiB; every request of a planning turn holds it."}),
			view.BehaviourSection(view.BehaviourForm{Turns: "many", Steps: "1300", Deadline: "soon", Runtime: "0", Roots: "notes", Errors: map[string]string{
				"turns": "Enter a whole number, or 0.", "steps": "A number from 0 to 1200; 0 means 1200.", "deadline": "Enter a number of seconds from 1 to 604800, or 0.",
				"roots": "\"notes\" is no whole path of a directory, such as /srv/notes."}})}},
	}
}
