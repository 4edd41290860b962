package kv

import (
	"reflect"
	"slices"
	"strings"

	"holdfast/engine/chat"
)

// usages decodes usage entries and holds the roll-ups against them, both ways.
func (c *checker) usages() error {
	sums := usageSums{}
	found := len(c.found)
	err := c.each(bUsage, func(key []byte, r record) {
		v := checkJSON[chat.UsageEntry](c, bUsage, key, r)
		if len(key) != idSize+8 || v != nil && string(v.RootID) != toID(key).String() {
			c.add(bUsage, key, "the record is that of another family")
			return
		}
		c.used(bUsage, key, messageIDOf(key))
		if v == nil {
			return
		}
		if err := sums.add(v); err != nil {
			c.add(bUsage, key, "the record is not one that the store writes: %v", err)
		}
	})
	if err != nil {
		return err
	}
	// A roll-up still has what an entry said that cannot be read any more.
	whole := len(c.found) == found
	err = c.each(bUsageDay, func(key []byte, r record) {
		want := sums[string(key)]
		delete(sums, string(key))
		v := checkJSON[chat.UsageDay](c, bUsageDay, key, r)
		switch {
		case len(key) != usageDaySize:
			c.add(bUsageDay, key, "the key is not a person, a day and a chat")
		case v == nil:
		case string(v.UserID) != toID(key).String() || v.Day != usageDayOf(key) || string(v.RootID) != usageRoot(key).String():
			c.add(bUsageDay, key, "the record is that of another person, day or chat")
		case whole && (want == nil || !sameLines(v.Lines, want.Lines)):
			c.add(bUsageDay, key, "the sum is not that of its usage entries")
		}
	})
	if err != nil {
		return err
	}
	for key := range sums {
		if value, err := c.tx.t.raw(bUsageDay, []byte(key)); err == nil && value == nil {
			c.add(bUsageDay, []byte(key), "usage entries are missing in the sums")
		}
	}
	return nil
}

// sameLines: entries of several families come in another order than they were summed up in.
func sameLines(a, b []chat.UsageLine) bool {
	order := func(x, y chat.UsageLine) int {
		return strings.Compare(string(x.ModelConfigID)+"\x00"+x.Model+"\x00"+x.Kind, string(y.ModelConfigID)+"\x00"+y.Model+"\x00"+y.Kind)
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	return reflect.DeepEqual(a, b)
}
