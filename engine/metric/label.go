package metric

import (
	"slices"
	"strings"
	"sync"
)

// Other stands for every label value beyond a bound.
const Other = "other"

// Label is one dimension of a metric, with its bound.
type Label struct {
	name   string
	closed []string
	limit  int
}

// OneOf is a label with a closed set of values.
func OneOf(name string, values ...string) Label {
	return Label{name: name, closed: values, limit: len(values)}
}

// Capped is a label that takes the first limit different values it is given.
func Capped(name string, limit int) Label { return Label{name: name, limit: limit} }

func (l Label) same(o Label) bool {
	return l.name == o.name && l.limit == o.limit && slices.Equal(l.closed, o.closed)
}

// bound keeps the label values of one metric within their limits and its combinations within the Registry's budget.
type bound struct {
	labels []Label
	// cost is how many series one combination adds.
	cost   int
	budget *budget

	mu sync.Mutex
	// seen holds the values of each Capped label, known the combinations; both guarded by mu.
	seen  []map[string]bool
	known map[string][]string
}

func newBound(labels []Label, cost int, b *budget) *bound {
	o := &bound{labels: labels, cost: cost, budget: b, known: map[string][]string{}}
	for range labels {
		o.seen = append(o.seen, map[string]bool{})
	}
	return o
}

// values gives the label values that are really counted. It panics when their number is wrong.
func (b *bound) values(given []string) []string {
	if len(given) != len(b.labels) {
		panic("metric: wrong number of label values")
	}
	if len(given) == 0 {
		return nil
	}
	key := strings.Join(given, "\x00")
	b.mu.Lock()
	defer b.mu.Unlock()
	if v, ok := b.known[key]; ok {
		return v
	}
	v, fresh := b.clampLocked(given)
	kept := strings.Join(v, "\x00")
	if known, ok := b.known[kept]; ok {
		return known
	}
	if !b.budget.take(b.cost) {
		return slices.Repeat([]string{Other}, len(given))
	}
	for _, i := range fresh {
		b.seen[i][v[i]] = true
	}
	b.known[kept] = v
	return v
}

// clampLocked replaces what is out of bounds; fresh names the labels whose value is new.
func (b *bound) clampLocked(given []string) (v []string, fresh []int) {
	v = slices.Clone(given)
	for i, l := range b.labels {
		switch {
		case v[i] == Other:
		case l.closed != nil:
			if !slices.Contains(l.closed, v[i]) {
				v[i] = Other
			}
		case b.seen[i][v[i]]:
		case len(b.seen[i]) < l.limit:
			v[i] = strings.Clone(v[i])
			fresh = append(fresh, i)
		default:
			v[i] = Other
		}
	}
	return v, fresh
}

// budget is the number of series that a Registry may still grow by.
type budget struct {
	mu   sync.Mutex
	left int
}

func (b *budget) take(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.left {
		return false
	}
	b.left -= n
	return true
}
