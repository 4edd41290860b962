package view

// Page is what every document needs. Assets gives the address of a static file; Icons the symbols of icons.svg.
type Page struct {
	Title  string
	Assets func(name string) string
	Icons  string
	// Stream is the address of the page's stream of patches, "" for a page without one.
	Stream string
}

// Nav is the sidebar of a signed-in page: the chats, and the model server in one line.
type Nav struct {
	List   ChatList
	Server ServerNote
}

// ServerNote is the foot of the sidebar. State is ok, warn or danger; Text says the rest.
type ServerNote struct {
	State string
	Text  string
	// Out says what left the machine today; Linked adds the way to the list of it.
	Out    string
	Linked bool
}

// ChatList holds the chats by day. Problem is the sentence of a list that could not be read.
type ChatList struct {
	Groups  []ChatGroup
	Problem string
	// Listed is how many chats the list was asked to hold, 0 for the usual number; More how many to ask for next, 0 at its end.
	Listed int
	More   int
}

// ChatGroup is Pinned, Today, Yesterday, This week or Older.
type ChatGroup struct {
	Name string
	Rows []ChatRow
}

// ChatState is what a row says about a Chat by icon and word.
type ChatState string

const (
	ChatRunning ChatState = "running"
	ChatWaiting ChatState = "waiting for you"
	ChatDone    ChatState = "done"
	ChatFailed  ChatState = "error"
	ChatResting ChatState = "at rest"
	ChatDamaged ChatState = "damaged"
)

// ChatRow is one Chat of the sidebar. Title, Summary and Labels are plain.
type ChatRow struct {
	ID string
	// Anchor is the element of the Chat's page that the row leads to, "" for none.
	Anchor  string
	Title   string
	Summary string
	// Labels are "key=value".
	Labels []string
	When   string
	State  ChatState
	Adds   int
	Dels   int
	Here   bool
	Unread bool
	Sub    bool
	// Query is what is marked in Title and Summary, "" outside of a search.
	Query string
}

// Hits is the answer to a search in the sidebar; Searched is how many chats were looked at, Unreadable how many of them are damaged,
// More how many hits to ask for next, 0 when these are all.
type Hits struct {
	Query      string
	Rows       []ChatRow
	Searched   int
	Unreadable int
	More       int
	Problem    string
}

// Option is one choice of a select.
type Option struct {
	Value    string
	Label    string
	Selected bool
	// Blind is a model that cannot see images.
	Blind bool
}

// LoginPage is the sign-in. Code is set when a link was opened in a way that must be confirmed by a press.
type LoginPage struct {
	Page Page
	Host string
	Code string
	// Problem is what was wrong with the last try, which was with a Name and a password when ByName.
	Problem string
	ByName  bool
	Name    string
}

func (p LoginPage) nameProblem() string {
	if p.ByName {
		return p.Problem
	}
	return ""
}

func (p LoginPage) codeProblem() string {
	if p.ByName {
		return ""
	}
	return p.Problem
}

// ErrorPage says what is not there and where to go.
type ErrorPage struct {
	Page    Page
	Status  int
	Title   string
	Message string
	ID      string
}
