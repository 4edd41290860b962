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
}

// ChatList holds the chats by day. Problem is the sentence of a list that could not be read.
type ChatList struct {
	Groups  []ChatGroup
	Problem string
	// More is the address of the next page of the list, "" at its end.
	More string
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
)

// ChatRow is one Chat of the sidebar. Title and Summary are plain; Marks are what a search found in them.
type ChatRow struct {
	ID      string
	Title   string
	Summary string
	When    string
	State   ChatState
	Adds    int
	Dels    int
	Here    bool
	Unread  bool
	Sub     bool
	// Query is the text to mark in Title and Summary, "" outside of a search.
	Query string
}

// Hits is the answer to a search in the sidebar; Searched is how many chats were looked at.
type Hits struct {
	Query    string
	Rows     []ChatRow
	Searched int
	Problem  string
}

// Option is one choice of a select.
type Option struct {
	Value    string
	Label    string
	Selected bool
}

// LoginPage is the sign-in. Code is set when a link was opened in a way that must be confirmed by a press.
type LoginPage struct {
	Page    Page
	Host    string
	Code    string
	Problem string
}

// ErrorPage says what is not there and where to go.
type ErrorPage struct {
	Page    Page
	Status  int
	Title   string
	Message string
	ID      string
}
