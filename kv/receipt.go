package kv

import (
	"fmt"

	"holdfast/engine/chat"
)

const maxReceiptKey = 128

// Receipt gives the answer that a person's Idempotency-Key got before. Chat "" is for the route that makes Chats.
func (x *Tx) Receipt(user chat.UserID, id chat.ID, key string) (*chat.Receipt, bool, error) {
	k, err := receiptKey(user, id, key)
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.Receipt](x, bReceipt, k)
}

// PutReceipt keeps an answer in the commit that does the work.
func (x *Tx) PutReceipt(id chat.ID, r *chat.Receipt) error {
	k, err := receiptKey(r.UserID, id, r.Key)
	if err != nil {
		return err
	}
	return x.t.putJSON(bReceipt, k, r)
}

// receiptKey begins with the Chat, so that a receipt lands on a page that the Chat's commit touches anyway.
func receiptKey(user chat.UserID, id chat.ID, key string) ([]byte, error) {
	if key == "" || len(key) > maxReceiptKey {
		return nil, fmt.Errorf("kv: an idempotency key has %d bytes, want 1 to %d", len(key), maxReceiptKey)
	}
	var chatID id16
	if id != "" {
		var err error
		if chatID, err = parseID(string(id)); err != nil {
			return nil, err
		}
	}
	u, err := parseID(string(user))
	if err != nil {
		return nil, err
	}
	k := make([]byte, 0, 2*idSize+len(key))
	k = append(append(k, chatID[:]...), u[:]...)
	return append(k, key...), nil
}
