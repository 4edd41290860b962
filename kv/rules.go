package kv

import "holdfast/engine/chat"

var ruleFields = fieldsOf[chat.RuleSet]()

// ChatRules gives the permission rules of a family under the id of its root; none is the zero value.
func (x *Tx) ChatRules(root chat.ID) (chat.RuleSet, error) { return getRules(x, bChatRules, root) }

// PutChatRules replaces them; an empty set removes the record.
func (x *Tx) PutChatRules(root chat.ID, s chat.RuleSet) error {
	return putRules(x, bChatRules, root, s)
}

// WorkspaceRules gives the permission rules of a Workspace; none is the zero value.
func (x *Tx) WorkspaceRules(id chat.WorkspaceID) (chat.RuleSet, error) {
	return getRules(x, bSpaceRules, id)
}

// PutWorkspaceRules replaces them; an empty set removes the record.
func (x *Tx) PutWorkspaceRules(id chat.WorkspaceID, s chat.RuleSet) error {
	return putRules(x, bSpaceRules, id, s)
}

func getRules[T ~string](x *Tx, b bucket, id T) (chat.RuleSet, error) {
	key, err := idKey(id)
	if err != nil {
		return chat.RuleSet{}, err
	}
	s, found, err := getNoun[chat.RuleSet](x, b, key)
	if err != nil || !found {
		return chat.RuleSet{}, err
	}
	return *s, nil
}

func putRules[T ~string](x *Tx, b bucket, id T, s chat.RuleSet) error {
	key, err := idKey(id)
	if err != nil {
		return err
	}
	if s.Default == "" && len(s.Rules) == 0 {
		return x.t.delete(b, key)
	}
	return putNoun(x, b, key, &s, ruleFields)
}
