package text

import (
	"container/list"
	"sync"
)

// Key names a rendered piece: a committed Message and a number within it.
type Key struct {
	Message int64
	Part    int
}

// Cache keeps the blocks of committed text, at most Max bytes of HTML; the piece that was not asked for longest goes first. Committed Messages never change, so
// nothing is ever outdated. It is safe for concurrent use.
type Cache struct {
	max int

	// mu guards the fields below; rendering happens outside of it.
	mu    sync.Mutex
	size  int
	order *list.List
	items map[Key]*list.Element
}

type cached struct {
	key    Key
	blocks []Block
	size   int
}

// NewCache makes a cache of at most max bytes.
func NewCache(max int) *Cache {
	return &Cache{max: max, order: list.New(), items: map[Key]*list.Element{}}
}

// Prose is [Prose] of src, from the cache if the key is known.
func (c *Cache) Prose(key Key, src string) []Block {
	c.mu.Lock()
	if el, ok := c.items[key]; ok {
		c.order.MoveToFront(el)
		blocks := el.Value.(*cached).blocks
		c.mu.Unlock()
		return blocks
	}
	c.mu.Unlock()
	item := &cached{key: key, blocks: Prose(src), size: 64}
	for _, b := range item.blocks {
		item.size += len(b.HTML) + 32
	}
	c.put(item)
	return item.blocks
}

func (c *Cache) put(item *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.items[item.key]; ok || item.size > c.max {
		return
	}
	c.items[item.key] = c.order.PushFront(item)
	c.size += item.size
	for c.size > c.max {
		last := c.order.Back()
		old := last.Value.(*cached)
		c.order.Remove(last)
		delete(c.items, old.key)
		c.size -= old.size
	}
}

// Bytes gives what the cache holds.
func (c *Cache) Bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}
