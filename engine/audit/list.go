package audit

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/kv"
)

const (
	// readAtOnce bounds a read transaction, lookAt what one List looks at to find what is asked for.
	readAtOnce = 500
	lookAt     = 20_000

	defaultLimit = 50
	maxLimit     = 200
)

// Group is a sort of actions.
type Group string

const (
	Everything Group = ""
	SignIns    Group = "sign_ins"
	People     Group = "people"
	Settings   Group = "settings"
	Models     Group = "models"
	Servers    Group = "mcp_servers"
	Agents     Group = "agents"
	Tools      Group = "tools"
	Store      Group = "store"
)

// groups say with what the actions of a Group begin, the first that fits counts; what fits nowhere is a setting.
var groups = []struct {
	group  Group
	begins []string
}{
	{SignIns, []string{"sign_in", "sign_out", "account.CreateLogin", "account.RevokeSession"}},
	{People, []string{"account.", "owner.", "token."}},
	{Models, []string{"model."}},
	{Servers, []string{"mcp.", "snapshot.ApproveServer", "snapshot.RefuseServer"}},
	{Agents, []string{"agent."}},
	{Tools, []string{"tool.", "engine."}},
	{Store, []string{"store.", "audit.", "secrets."}},
}

// Groups are all of them, in the order of the page.
func Groups() []Group {
	return []Group{Everything, SignIns, People, Settings, Models, Servers, Agents, Tools, Store}
}

// GroupOf gives the Group of an action.
func GroupOf(action string) Group {
	for _, g := range groups {
		if slices.ContainsFunc(g.begins, func(b string) bool { return strings.HasPrefix(action, b) }) {
			return g.group
		}
	}
	return Settings
}

// Record is one record as it may be shown, with the hash that chains it.
type Record struct {
	chat.Audit
	Hash string
}

// ListInput asks for records below the number Before (0: the newest), at most Limit (0: 50). Group and UserID, where they are set, must
// fit.
type ListInput struct {
	Before int64
	Limit  int
	Group  Group
	UserID chat.UserID
}

// ListOutput holds records, the newest first. HasMore: there may be older ones, below Before.
type ListOutput struct {
	Records []Record
	HasMore bool
	Before  int64
}

// List reads the audit. A page may be short, or empty, with HasMore set: then much was looked at that does not fit.
func (r *Room) List(ctx context.Context, _ chat.Principal, in ListInput) (ListOutput, error) {
	if in.Limit == 0 {
		in.Limit = defaultLimit
	}
	switch {
	case in.Limit < 1 || in.Limit > maxLimit:
		return ListOutput{}, chat.Invalid("limit", "must be from 1 to 200")
	case in.Before < 0:
		return ListOutput{}, chat.Invalid("before_id", "must be the number of a record")
	case !slices.Contains(Groups(), in.Group):
		return ListOutput{}, chat.Invalid("group", "is not a group of actions")
	}
	out := ListOutput{Records: []Record{}, Before: in.Before}
	for looked := 0; looked < lookAt; looked += readAtOnce {
		var part []kv.AuditLink
		var chain kv.AuditChain
		err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
			if chain, err = tx.AuditChain(); err != nil {
				return err
			}
			part, err = tx.Audits(out.Before, readAtOnce)
			return err
		})
		if err != nil {
			return ListOutput{}, err
		}
		if out.HasMore = len(part) > 0; !out.HasMore {
			return out, nil
		}
		for _, link := range part {
			if in.fits(link.Audit) && len(out.Records) == in.Limit {
				return out, nil
			}
			if in.fits(link.Audit) {
				out.Records = append(out.Records, Record{Audit: link.Audit, Hash: hex.EncodeToString(link.Hash)})
			}
			out.Before = link.Number
		}
		if out.HasMore = out.Before > chain.First; !out.HasMore {
			return out, nil
		}
	}
	return out, nil
}

func (i ListInput) fits(a chat.Audit) bool {
	return (i.Group == Everything || GroupOf(a.Action) == i.Group) && (i.UserID == "" || a.UserID == i.UserID)
}
