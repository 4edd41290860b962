package kv

import (
	"encoding/json"

	"holdfast/engine/chat"
)

// PushSecret is the name under which a subscription's address is sealed; vapidSite the site value that holds the sealed key for push
// services, and its name.
func PushSecret(id chat.PushID) string { return "push:" + string(id) }

const vapidSite = "push_vapid"

// ReplaceSealed gives fresh all that is sealed in the store, with the names it is sealed under, and stores what comes back; nil leaves it
// as it is. Whoever seals something beside PutSecret adds it here: what is left out opens no more once the key has changed.
func (x *Tx) ReplaceSealed(fresh func(name string, sealed []byte) []byte) error {
	names, err := x.SecretNames()
	if err != nil {
		return err
	}
	for _, name := range names {
		sealed, _, err := x.Secret(name)
		if err != nil {
			return err
		}
		if again := fresh(name, sealed); again != nil {
			if err := x.PutSecret(name, again); err != nil {
				return err
			}
		}
	}
	subscriptions, err := listNoun[chat.PushSubscription](x, bPush, nil)
	if err != nil {
		return err
	}
	for _, p := range subscriptions {
		if again := fresh(PushSecret(p.ID), p.Sealed); again != nil {
			p.Sealed = again
			if err := x.PutPushSubscription(p); err != nil {
				return err
			}
		}
	}
	return x.replaceVapid(fresh)
}

// replaceVapid keeps what else the value holds.
func (x *Tx) replaceVapid(fresh func(name string, sealed []byte) []byte) error {
	var value map[string]json.RawMessage
	found, err := x.Site(vapidSite, &value)
	if err != nil || !found || value["sealed"] == nil {
		return err
	}
	var sealed []byte
	if err := json.Unmarshal(value["sealed"], &sealed); err != nil {
		return &DamageError{damageAt(bSite, []byte(vapidSite), "the sealed key is not readable")}
	}
	again := fresh(vapidSite, sealed)
	if again == nil {
		return nil
	}
	if value["sealed"], err = json.Marshal(again); err != nil {
		return err
	}
	return x.PutSite(vapidSite, value)
}
