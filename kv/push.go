package kv

import (
	"fmt"

	"holdfast/engine/chat"
)

var pushFields = fieldsOf[chat.PushSubscription]()

func pushKey(user chat.UserID, id chat.PushID) ([]byte, error) {
	u, err := parseID(string(user))
	if err != nil {
		return nil, err
	}
	p, err := parseID(string(id))
	if err != nil {
		return nil, err
	}
	return append(u[:], p[:]...), nil
}

// PushSubscription gives one of a person's subscriptions.
func (x *Tx) PushSubscription(user chat.UserID, id chat.PushID) (*chat.PushSubscription, bool, error) {
	key, err := pushKey(user, id)
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.PushSubscription](x, bPush, key)
}

// PushSubscriptions gives a person's subscriptions, oldest first.
func (x *Tx) PushSubscriptions(user chat.UserID) ([]*chat.PushSubscription, error) {
	u, err := parseID(string(user))
	if err != nil {
		return nil, err
	}
	return listNoun[chat.PushSubscription](x, bPush, u[:])
}

// PutPushSubscription writes a subscription.
func (x *Tx) PutPushSubscription(p *chat.PushSubscription) error {
	key, err := pushKey(p.UserID, p.ID)
	if err != nil {
		return err
	}
	// Before the commit: who sees the record sees this.
	x.s.holds.pushes.Store(true)
	return putNoun(x, bPush, key, p, pushFields)
}

// DeletePushSubscription removes a subscription and says whether there was one.
func (x *Tx) DeletePushSubscription(user chat.UserID, id chat.PushID) (bool, error) {
	key, err := pushKey(user, id)
	if err != nil {
		return false, err
	}
	return deleteNoun(x, bPush, key)
}

func (c *checker) pushes() error {
	return c.each(bPush, func(key []byte, r record) {
		v := checkJSON[chat.PushSubscription](c, bPush, key, r)
		if v == nil {
			return
		}
		want, err := pushKey(v.UserID, v.ID)
		if err != nil || string(want) != string(key) {
			c.add(bPush, key, "%s", fmt.Sprintf("the record is that of subscription %s", v.ID))
		}
	})
}
