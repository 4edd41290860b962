package usage

import (
	"slices"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Advised is what is known of the Turns that asked the advisor: how many there were, how many of them reached the limit of uses, and the median of how
// long a consultation took, 0 where none gave advice.
type Advised struct {
	Turns, Limited int
	Median         time.Duration
}

// advised sums up a range of days of one person, of all where user is "".
func advised(tx *kv.Tx, user chat.UserID, in Range) (Advised, error) {
	days, err := tx.Advised(user, in.First, in.Last)
	var out Advised
	var took []int64
	for _, d := range days {
		out.Turns += d.Turns
		out.Limited += d.Limited
		took = append(took, d.TookMS...)
	}
	if n := len(took); n > 0 {
		slices.Sort(took)
		out.Median = time.Duration(took[(n-1)/2]+took[n/2]) * time.Millisecond / 2
	}
	return out, err
}
