package account

import (
	"slices"

	"holdfast/engine/chat"
)

// Policy is what a command demands of who asks, given its input. The zero Policy lets nobody in.
type Policy[In any] struct {
	rules []rule[In]
	// audited: every use is recorded, whatever the rules say.
	audited bool
}

// Audited makes every use of the command a record of the audit. Commands that admins alone may give to change something, and those that
// change what belongs to a person, are recorded without it.
func (p Policy[In]) Audited() Policy[In] {
	p.audited = true
	return p
}

// audit says whether the use of a command with this input is recorded, and what it is about.
func (p Policy[In]) audit(in In) (object string, recorded bool) {
	recorded = p.audited
	for _, r := range p.rules {
		id, applies := r.subject(in)
		if !applies {
			continue
		}
		if object == "" {
			object = id
		}
		recorded = recorded || r.verb == write && (r.kind == kindSite || r.kind == kindUser)
	}
	return object, recorded
}

// rule is one demand. subject gives the id of the object; applies false skips the rule for this input.
type rule[In any] struct {
	verb    verb
	kind    kind
	subject func(In) (id string, applies bool)
}

func one[In any](v verb, k kind, subject func(In) (string, bool)) Policy[In] {
	return Policy[In]{rules: []rule[In]{{verb: v, kind: k, subject: subject}}}
}

func always[In any](In) (string, bool) { return "", true }

// Anyone who is signed in may read.
func Anyone[In any]() Policy[In] { return one(read, kindNothing, always[In]) }

// AnyoneWrites is Anyone for commands that change something: a read-only principal gets KindForbidden.
func AnyoneWrites[In any]() Policy[In] { return one(write, kindNothing, always[In]) }

// Admin commands read what only admins may see.
func Admin[In any]() Policy[In] { return one(read, kindSite, always[In]) }

// AdminWrites commands change what belongs to the whole appliance.
func AdminWrites[In any]() Policy[In] { return one(write, kindSite, always[In]) }

// AdminWritesIf demands an admin only for inputs that ask for more than everybody may have.
func AdminWritesIf[In any](asks func(In) bool) Policy[In] {
	return one(write, kindSite, func(in In) (string, bool) { return "", asks(in) })
}

// Self commands read what belongs to the named user, "" being the principal. Others get KindNotFound, admins get in.
func Self[In any](user func(In) chat.UserID) Policy[In] { return one(read, kindUser, named(user)) }

// SelfWrites is Self for commands that change something.
func SelfWrites[In any](user func(In) chat.UserID) Policy[In] {
	return one(write, kindUser, named(user))
}

// Owns commands read the named Chat. When it is another's or unknown it is KindNotFound, for admins too.
func Owns[In any](id func(In) chat.ID) Policy[In] { return one(read, kindChat, named(id)) }

// OwnsWrites is Owns for commands that change something.
func OwnsWrites[In any](id func(In) chat.ID) Policy[In] { return one(write, kindChat, named(id)) }

// OwnsWorkspace commands read the named Workspace. When it is another's or unknown it is KindNotFound, for admins too.
func OwnsWorkspace[In any](id func(In) chat.WorkspaceID) Policy[In] {
	return one(read, kindWorkspace, named(id))
}

// OwnsWorkspaceWrites is OwnsWorkspace for commands that change something.
func OwnsWorkspaceWrites[In any](id func(In) chat.WorkspaceID) Policy[In] {
	return one(write, kindWorkspace, named(id))
}

// UsesWorkspace is OwnsWorkspace for an input that may name none: "" passes.
func UsesWorkspace[In any](id func(In) chat.WorkspaceID) Policy[In] {
	return one(read, kindWorkspace, func(in In) (string, bool) {
		w := id(in)
		return string(w), w != ""
	})
}

// OwnsFile commands read the named File. When it is another's or unknown it is KindNotFound, for admins too.
func OwnsFile[In any](id func(In) chat.FileID) Policy[In] { return one(read, kindFile, named(id)) }

// All demands every one of the policies, in their order.
func All[In any](policies ...Policy[In]) Policy[In] {
	var all Policy[In]
	for _, p := range policies {
		if len(p.rules) == 0 {
			return Policy[In]{}
		}
		all.rules = slices.Concat(all.rules, p.rules)
		all.audited = all.audited || p.audited
	}
	return all
}

func named[In any, ID ~string](id func(In) ID) func(In) (string, bool) {
	return func(in In) (string, bool) { return string(id(in)), true }
}
