package gallery

import "holdfast/ui/view"

func people(p view.Page) view.PeoplePage {
	return view.PeoplePage{Page: p, Note: note(), People: []view.Person{
		{ID: "1", Name: "Ingrid", Admin: true, Password: true, Added: "3 March", Seen: "today, 14:06", Self: true, Last: true},
		{ID: "2", Name: "Jonas", Added: "12 November", Seen: "19 November, 09:41"},
		{ID: "3", Name: "A name that somebody made as long as it may be, to see whether the table still holds", Password: true, Added: "today"},
		{ID: "4", Name: "Marit", Disabled: true, Password: true, Added: "1 October 2025", Seen: "4 January, 08:00"},
	}}
}

func signIns() []view.Session {
	return []view.Session{
		{ID: "1", Browser: "Firefox on Linux", Since: "12 November, 08:12", Used: "today, 14:06", Ends: "12 December", Current: true},
		{ID: "2", Browser: "Safari on iPhone", Since: "18 November, 21:30", Used: "19 November, 09:41", Ends: "18 December"},
		{ID: "3", Since: "19 November, 10:00", Used: "19 November, 10:00", Ends: "19 December"},
	}
}

func person(p view.Page, disabled bool) view.PersonPage {
	page := view.PersonPage{Page: p, Note: note(), Person: view.Person{ID: "2", Name: "Jonas", Disabled: disabled, Password: true, Added: "12 November", Seen: "19 November, 09:41"},
		Tokens: []view.Token{{ID: "1", Name: "editor on the laptop", Created: "12 Nov 2026", LastUsed: "19 Nov 09:41", Expires: "10 Feb 2027"}, {ID: "2", Created: "1 Oct 2026"}}}
	if !disabled {
		page.Sessions = signIns()[1:]
	}
	return page
}

func own(p view.Page) view.OwnPage {
	return view.OwnPage{Page: p, Note: note(), Person: people(p).People[0], Sessions: signIns()}
}
