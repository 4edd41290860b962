package kv

import "holdfast/engine/chat"

// Queue gives the Messages that wait, in order.
func (x *Tx) Queue(id chat.ID) ([]*chat.QueuedMessage, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, err
	}
	q, _, err := getNoun[[]*chat.QueuedMessage](x, bQueue, key)
	if err != nil || q == nil {
		return nil, err
	}
	return *q, nil
}

// PutQueue replaces the whole queue and sets c.Queued; the caller then calls PutChat(c). Ids come from NextID.
func (x *Tx) PutQueue(c *chat.Chat, q []*chat.QueuedMessage) error {
	key, err := idKey(c.ID)
	if err != nil {
		return err
	}
	c.Queued = len(q)
	if len(q) == 0 {
		return x.t.delete(bQueue, key)
	}
	return x.t.putJSON(bQueue, key, q)
}
