package account

import (
	"holdfast/engine/chat"
)

// verb is what a command does to its object.
type verb int

const (
	read verb = iota + 1
	write
)

// kind is what sort of object a command names.
type kind int

const (
	// kindNothing: the command names nothing of anybody; being signed in is enough.
	kindNothing kind = iota + 1
	// kindSite: what belongs to the whole appliance and to admins.
	kindSite
	// kindUser: a person. Oneself, and everybody for admins.
	kindUser
	kindChat
	kindWorkspace
	kindFile
)

// object is what a command is about: its kind, and its owner where it has one. An unknown thing has none.
type object struct {
	kind  kind
	owner chat.UserID
}

// authorize says whether the principal may do this to that object: nil, KindUnauthenticated, KindNotFound (also for what belongs
// to someone else) or KindForbidden. Every permission of the product is decided here.
func authorize(p chat.Principal, v verb, o object) error {
	if p.UserID == "" {
		return unauthenticated()
	}
	mine := o.owner == p.UserID
	switch o.kind {
	case kindNothing:
	case kindSite:
		if !p.Admin() {
			return forbidden("Only an admin may do this.")
		}
	case kindUser:
		if !mine && (o.owner == "" || !p.Admin()) {
			return chat.NotFound("user")
		}
	case kindChat:
		if !mine {
			return chat.NotFound("chat")
		}
	case kindWorkspace:
		if !mine {
			return chat.NotFound("workspace")
		}
	case kindFile:
		if !mine {
			return chat.NotFound("file")
		}
	default:
		return forbidden("This is not allowed.")
	}
	switch {
	case v == read:
		return nil
	case v == write && !p.ReadOnly:
		return nil
	case v == write:
		return forbidden("This token may only read.")
	}
	return forbidden("This is not allowed.")
}

func forbidden(message string) *chat.Error {
	return &chat.Error{Kind: chat.KindForbidden, Message: message}
}
