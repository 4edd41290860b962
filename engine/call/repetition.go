package call

import (
	"errors"

	"holdfast/engine/chat"
)

// A reply whose last window bytes are one piece of at most repeatPeriod bytes, over and over, will not end by itself. It is looked
// at every repeatCheck bytes.
const (
	repeatPeriod = 512
	repeatCheck  = 2 << 10
)

var errRepeats = errors.New("the reply repeats itself without end")

// repetition looks at the text and the reasoning of a reply.
type repetition struct {
	window int
	tail   []byte
	// fresh counts bytes since the last look.
	fresh int
}

func (r *repetition) add(d chat.Delta) error {
	if r.window < 0 {
		return nil
	}
	if d.Call != nil {
		r.tail, r.fresh = r.tail[:0], 0
		return nil
	}
	r.tail = append(append(r.tail, d.Reasoning...), d.Text...)
	r.fresh += len(d.Reasoning) + len(d.Text)
	if r.fresh < repeatCheck || len(r.tail) < r.window {
		return nil
	}
	r.fresh = 0
	r.tail = append(r.tail[:0], r.tail[len(r.tail)-r.window:]...)
	if period(r.tail) <= repeatPeriod {
		return errRepeats
	}
	return nil
}

// period is the length of the shortest piece that, repeated, gives b (the last round may be cut).
func period(b []byte) int {
	border := make([]int, len(b)+1)
	border[0] = -1
	k := -1
	for i := range b {
		for k >= 0 && b[k] != b[i] {
			k = border[k]
		}
		k++
		border[i+1] = k
	}
	return len(b) - border[len(b)]
}
