package view

// NotificationsPage is how a person hears of their chats while they look elsewhere.
type NotificationsPage struct {
	Page Page
	Note ServerNote
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
	// Tried: the person has just tried it.
	Tried bool
}

// HookForm adds a webhook; Secret is that of the new one, this once.
type HookForm struct {
	Name, URL, Error string
	Secret           string
}
