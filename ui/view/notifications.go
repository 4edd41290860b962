package view

// NotificationsPage is how a person hears of their chats while they look elsewhere.
type NotificationsPage struct {
	Page  Page
	Note  ServerNote
	Told  NoticeList
	Kinds NoticeKindsForm
	// PublicKey is what a browser subscribes with.
	PublicKey string
	// Push is how pushes stand for this browser; its script finds out. It begins with PushAble.
	Push PushState
	// Offline: the appliance calls nobody outside.
	Offline bool
	// Reached are the browsers and webhooks.
	Reached []NoticeTarget
	// Problem is what was wrong with the last try for a browser.
	Problem string
	Hook    HookForm
}

// NoticeList is what a person was told, the newest first. Problem is why it could not be read.
type NoticeList struct {
	Rows    []NoticeRow
	Unread  int
	Problem string
	// Fixed: whoever looks may change nothing.
	Fixed bool
}

// newest is the number up to which all are read at once.
func (l NoticeList) newest() string { return l.Rows[0].Number }

// NoticeRow is one of them. Element id: no-Number.
type NoticeRow struct {
	Number string
	State  ChatState
	// Chat is where it leads; Title and Body are plain.
	Chat, Title, Body string
	When, ISO         string
	Read              bool
}

// NoticeKindsForm are the switches for what a person is told.
type NoticeKindsForm struct {
	Finished, Failed, Asks bool
	Fixed                  bool
	Error                  string
}

// PushState is how pushes stand for the browser that looks.
type PushState string

// The states, one of which is shown.
const (
	PushAble        PushState = "able"
	PushOn          PushState = "on"
	PushDenied      PushState = "denied"
	PushInsecure    PushState = "insecure"
	PushUnsupported PushState = "unsupported"
	PushUnreachable PushState = "unreachable"
)

// NoticeTarget is a browser or a webhook.
type NoticeTarget struct {
	ID, Name, Host string
	Hook           bool
	// Last is when the last Notice arrived, "" for none yet.
	Last string
	// Failed says why the last one did not, Failures how many since the last success.
	Failed   string
	Failures int
	// Tried: it was sent a moment ago.
	Tried bool
}

// HookForm adds a webhook; Secret is that of the new one, this once.
type HookForm struct {
	Name, URL, Error string
	Secret           string
}
