// Package cache keeps what was used lately.
package cache

import "container/list"

// LRU forgets the entry that was not used for longest when it is full.
type LRU struct {
	capacity int
	order    *list.List
	entries  map[string]*list.Element
}

// Get returns the value of key and makes it the most recent one.
func (c *LRU) Get(key string) (any, bool) {
	element, ok := c.entries[key]
	if ok {
		c.order.MoveToFront(element)
		return element.Value, true
	}
	return nil, false
}

// evict removes the oldest entry.
func (c *LRU) evict() {
	last := c.order.Back()
	c.order.Remove(last)
}
