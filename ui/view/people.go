package view

import "context"

// Viewer is who looks at a page.
type Viewer struct {
	Name  string
	Admin bool
}

type viewerKey struct{}

// SeenBy gives a context in which pages are rendered for this viewer.
func SeenBy(ctx context.Context, v Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// viewer is who looks; nobody is the zero Viewer, who sees nothing of admins.
func viewer(ctx context.Context) Viewer {
	v, _ := ctx.Value(viewerKey{}).(Viewer)
	return v
}

// PeoplePage lists who may use the appliance.
type PeoplePage struct {
	Page   Page
	Note   ServerNote
	People []Person
}

// Person is somebody known to the appliance. Element id: pe-ID.
type Person struct {
	ID       string
	Name     string
	Admin    bool
	Disabled bool
	// Password: they have one.
	Password bool
	// Added and Seen are days and times in words; Seen "" is never.
	Added string
	Seen  string
	// Self is who looks; Last is the last admin, who must stay one.
	Self bool
	Last bool
}

// PersonPage is one person as admins see them.
type PersonPage struct {
	Page     Page
	Note     ServerNote
	Person   Person
	Sessions []Session
	Tokens   []Token
	// Set: the password was just set. Problem is why it was not.
	Set     bool
	Problem string
}

// OwnPage is a person's own account.
type OwnPage struct {
	Page     Page
	Note     ServerNote
	Person   Person
	Sessions []Session
	// Set: the password was just set. Problem is why it was not.
	Set     bool
	Problem string
}

// Session is a browser's sign-in. Element id: se-ID.
type Session struct {
	ID      string
	Browser string
	Since   string
	Used    string
	Ends    string
	Current bool
}

// SignInLink is a one-time link that was just made for somebody; the zero value is none.
type SignInLink struct {
	Name  string
	URL   string
	Until string
}

func roleWord(p Person) string {
	if p.Admin {
		return "admin"
	}
	return "member"
}

func signsIn(p Person) string {
	if p.Password {
		return "name and password"
	}
	return "one-time links"
}

func browserName(s Session) string {
	if s.Browser == "" {
		return "A browser"
	}
	return s.Browser
}
