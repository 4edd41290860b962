package chat

import (
	"fmt"
	"math"
	"time"
)

// Kinds of a UsageEntry: what a model was called for.
const (
	UsageTurn       = "turn"
	UsageAdvisor    = "advisor"
	UsageCompaction = "compaction"
	UsageClassifier = "classifier"
	UsageTitle      = "title"
	UsageSummary    = "summary"
)

// Day is a day in UTC, counted from 1 January 1970. Its text is 2006-01-02.
type Day int

// DayOf gives the day in UTC that a moment lies in.
func DayOf(t time.Time) Day {
	y, m, d := t.UTC().Date()
	return Day(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
}

// Time is the beginning of the day.
func (d Day) Time() time.Time { return time.Unix(int64(d)*24*60*60, 0).UTC() }

// String gives the day as 2006-01-02.
func (d Day) String() string { return d.Time().Format(time.DateOnly) }

// MarshalText gives the day as 2006-01-02.
func (d Day) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads 2006-01-02.
func (d *Day) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.DateOnly, string(text))
	if err != nil {
		return fmt.Errorf("a day is written 2006-01-02: %w", err)
	}
	*d = DayOf(t)
	return nil
}

// UsageSum adds up usage entries. Requests without a known price are counted in Unpriced and add nothing to CostMicros.
type UsageSum struct {
	Requests        int64 `json:"requests"`
	Unpriced        int64 `json:"unpriced,omitempty"`
	InputTokens     int64 `json:"input_tokens,omitempty"`
	OutputTokens    int64 `json:"output_tokens,omitempty"`
	ReasoningTokens int64 `json:"reasoning_tokens,omitempty"`
	CacheReadTokens int64 `json:"cache_read_tokens,omitempty"`
	CostMicros      int64 `json:"cost_micros,omitempty"`
	RuntimeMS       int64 `json:"runtime_ms,omitempty"`
}

// SumOf is one entry as a sum.
func SumOf(u *UsageEntry) UsageSum {
	count := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	s := UsageSum{Requests: 1, InputTokens: count(u.Usage.InputTokens), OutputTokens: count(u.Usage.OutputTokens),
		ReasoningTokens: count(u.Usage.ReasoningTokens), CacheReadTokens: count(u.Usage.CacheReadTokens), RuntimeMS: u.RuntimeMS}
	if u.CostMicros == nil {
		s.Unpriced = 1
	} else {
		s.CostMicros = *u.CostMicros
	}
	return s
}

// Plus adds two sums. A cost that no longer fits stays at the largest number, so that a limit holds.
func (s UsageSum) Plus(o UsageSum) UsageSum {
	cost := s.CostMicros + o.CostMicros
	if s.CostMicros > 0 && o.CostMicros > math.MaxInt64-s.CostMicros {
		cost = math.MaxInt64
	}
	return UsageSum{Requests: s.Requests + o.Requests, Unpriced: s.Unpriced + o.Unpriced, InputTokens: s.InputTokens + o.InputTokens,
		OutputTokens: s.OutputTokens + o.OutputTokens, ReasoningTokens: s.ReasoningTokens + o.ReasoningTokens,
		CacheReadTokens: s.CacheReadTokens + o.CacheReadTokens, CostMicros: cost, RuntimeMS: s.RuntimeMS + o.RuntimeMS}
}

// Tokens are those of the input and the output; reasoning is part of the output, what was read from a cache of the input.
func (s UsageSum) Tokens() int64 { return s.InputTokens + s.OutputTokens }

// Cost is nil where there were requests and none of them had a price.
func (s UsageSum) Cost() *int64 {
	if s.Requests > 0 && s.Unpriced == s.Requests {
		return nil
	}
	return &s.CostMicros
}

// UsageLine is what one model was used for one kind of call.
type UsageLine struct {
	ModelConfigID ModelConfigID `json:"model_config_id,omitempty"`
	Model         string        `json:"model"`
	Kind          string        `json:"kind"`
	UsageSum
}

// UsageDay is a person's usage of one day: in one family of Chats, or in all where RootID is "". The store keeps both beside the
// entries.
type UsageDay struct {
	UserID UserID      `json:"user_id"`
	Day    Day         `json:"day"`
	RootID ID          `json:"root_chat_id,omitempty"`
	Lines  []UsageLine `json:"lines"`
}

// Add adds a line to the one of the same model and kind.
func (d *UsageDay) Add(l UsageLine) {
	for i := range d.Lines {
		have := &d.Lines[i]
		if have.ModelConfigID == l.ModelConfigID && have.Model == l.Model && have.Kind == l.Kind {
			have.UsageSum = have.Plus(l.UsageSum)
			return
		}
	}
	d.Lines = append(d.Lines, l)
}

// Sum is all of the day.
func (d *UsageDay) Sum() UsageSum {
	var s UsageSum
	for _, l := range d.Lines {
		s = s.Plus(l.UsageSum)
	}
	return s
}

// LineOf is one entry as a line.
func LineOf(u *UsageEntry) UsageLine {
	return UsageLine{ModelConfigID: u.ModelConfigID, Model: u.Model, Kind: u.Kind, UsageSum: SumOf(u)}
}

// Periods of a UsageLimit, in UTC; a week begins on Monday.
const (
	PeriodDay   = "day"
	PeriodWeek  = "week"
	PeriodMonth = "month"
)

// NoLimit as a number of a UsageLimit lets everything pass.
const NoLimit = -1

// UsageLimit is what may be used in a period; NoLimit switches one of the numbers off.
type UsageLimit struct {
	Period string `json:"period"`
	Micros int64  `json:"limit_micros"`
	Tokens int64  `json:"limit_tokens"`
}

// UsageLimits is the site's configuration of limits. The person's own one counts, else that of the role, else Default; nil is none.
type UsageLimits struct {
	Default *UsageLimit             `json:"default,omitempty"`
	Roles   map[UserRole]UsageLimit `json:"roles,omitempty"`
	Users   map[UserID]UsageLimit   `json:"users,omitempty"`
}

// UsageStanding is where somebody stands in the present period of a limit; it is part of a KindUsageLimit error. Limits of NoLimit
// are none.
type UsageStanding struct {
	SpentMicros int64     `json:"spent_micros"`
	LimitMicros int64     `json:"limit_micros"`
	SpentTokens int64     `json:"spent_tokens"`
	LimitTokens int64     `json:"limit_tokens"`
	ResetsAt    time.Time `json:"resets_at"`
}
