package rule

import (
	"slices"

	"holdfast/engine/chat"
	"holdfast/engine/permit"
	"holdfast/kv"
)

// SiteKey is the name of the site's rules in the store; the value is a chat.RuleSet.
const SiteKey = "permissions"

// Layers are all rules that count for a Chat. Where there is no Workspace, its set is empty.
type Layers struct{ Site, Workspace, Chat chat.RuleSet }

// Read gives the Layers of a Chat, by its Workspace and the root of its family; each may be "".
func Read(tx *kv.Tx, space chat.WorkspaceID, root chat.ID) (l Layers, err error) {
	if _, err = tx.Site(SiteKey, &l.Site); err != nil {
		return l, err
	}
	if space != "" {
		if l.Workspace, err = tx.WorkspaceRules(space); err != nil {
			return l, err
		}
	}
	if root != "" {
		l.Chat, err = tx.ChatRules(root)
	}
	return l, err
}

// Merged is the one set: what was said nearest to the Chat counts first, and so does its default.
func (l Layers) Merged() chat.RuleSet {
	out := chat.RuleSet{Default: chat.PermitStandard, Rules: slices.Concat(l.Chat.Rules, l.Workspace.Rules, l.Site.Rules)}
	for _, s := range []chat.RuleSet{l.Chat, l.Workspace, l.Site} {
		if s.Default != "" && s.Default != chat.PermitStandard {
			out.Default = s.Default
			break
		}
	}
	return out
}

// Floor is the stricter of what was decided and of what the site decides alone: where the site denies what none of its rules lets through,
// what was said nearer to the Chat does not open that.
func (l Layers) Floor(c permit.Call, d permit.Decision) permit.Decision {
	if l.Site.Default != chat.PermitDeny || d.Effect == chat.PermitDeny || permit.Decide(l.Site, c).Effect != chat.PermitDeny {
		return d
	}
	return permit.Decision{Effect: chat.PermitDeny, At: -1, Why: "the site denies what none of its own rules allows"}
}

// From says whose rule stands at an index of the merged set, "" for none.
func (l Layers) From(at int) string {
	switch chatRules, space := len(l.Chat.Rules), len(l.Workspace.Rules); {
	case at < 0:
		return ""
	case at < chatRules:
		return "this chat"
	case at < chatRules+space:
		return "this workspace"
	}
	return "the site"
}

// Add puts rules before the others of a set, those that are there already left out. It is false when the set would be too long.
func Add(s chat.RuleSet, rules []chat.Rule) (chat.RuleSet, bool) {
	var fresh []chat.Rule
	for _, r := range rules {
		if !slices.Contains(s.Rules, r) {
			fresh = append(fresh, r)
		}
	}
	s.Rules = append(fresh, s.Rules...)
	return s, len(s.Rules) <= MaxRules
}
