package chat

import "time"

// NoticeKind says why a person may want to look.
type NoticeKind string

const (
	NoticeFinished       NoticeKind = "finished"
	NoticeFailed         NoticeKind = "failed"
	NoticeActionRequired NoticeKind = "action_required"
	// NoticeTest is of no Chat: a person wants to see that it arrives.
	NoticeTest NoticeKind = "test"
)

// Notice is what a person may want to hear of while they look elsewhere. Title is the Chat's, Body one line about it.
type Notice struct {
	User  UserID
	Chat  ID
	Kind  NoticeKind
	Title string
	Body  string
	// Number is what it is kept under, 0 where it is still to be kept.
	Number int64
}

// OwedNotice is what is still to be told of a Turn, kept in its own transaction until it is told: the process may be killed meanwhile. A finished one
// may wait for its summary. Reply and UserMessage say which Turn it is, Body is what is told, "" what then is the Turn's summary.
type OwedNotice struct {
	// Kind "" is a finished Turn.
	Kind        NoticeKind `json:"kind,omitempty"`
	Reply       MessageID  `json:"reply,omitempty"`
	UserMessage MessageID  `json:"user_message,omitempty"`
	Body        string     `json:"body"`
}

// URL is the page that a Notice leads to.
func (n Notice) URL() string {
	if n.Chat == "" {
		return "/notifications"
	}
	return "/chats/" + string(n.Chat)
}

// NoticeKinds are those that a person can hear of, or not.
var NoticeKinds = []NoticeKind{NoticeFinished, NoticeFailed, NoticeActionRequired}

// KeptNotice is a Notice as it is kept for its person.
type KeptNotice struct {
	// Number grows with time, over restarts too.
	Number int64      `json:"number"`
	At     time.Time  `json:"at"`
	Chat   ID         `json:"chat"`
	Kind   NoticeKind `json:"kind"`
	Title  string     `json:"title"`
	Body   string     `json:"body"`
	// Read: it was read by itself; what stands below the number of its person's newest read one is read too.
	Read bool `json:"read,omitempty"`
}
