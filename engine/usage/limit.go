package usage

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// LimitsKey is the name of the limits in the site configuration; the value is a chat.UsageLimits.
const LimitsKey = "usage-limits"

// maxRules bounds the limits of single people.
const maxRules = 1000

// LimitsInput asks for the limits.
type LimitsInput struct{}

// Limits gives the limits of the site; Default is always set. Admins see all, others those that could count for them: the default, their
// role's and their own.
func (r *Room) Limits(ctx context.Context, p chat.Principal, _ LimitsInput) (chat.UsageLimits, error) {
	var out chat.UsageLimits
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		out = chat.UsageLimits{}
		if _, err := tx.Site(LimitsKey, &out); err != nil {
			return err
		}
		if !p.Admin() {
			maps.DeleteFunc(out.Roles, func(role chat.UserRole, _ chat.UsageLimit) bool { return role != p.Role })
			maps.DeleteFunc(out.Users, func(id chat.UserID, _ chat.UsageLimit) bool { return id != p.UserID })
			return nil
		}
		people, err := everybody(tx)
		// Limits of people who were removed count for nobody.
		maps.DeleteFunc(out.Users, func(id chat.UserID, _ chat.UsageLimit) bool {
			return !slices.ContainsFunc(people, func(u UserSum) bool { return u.UserID == id })
		})
		return err
	})
	if out.Default == nil {
		out.Default = &chat.UsageLimit{Period: chat.PeriodMonth, Micros: chat.NoLimit, Tokens: chat.NoLimit}
	}
	return out, err
}

// SetLimitsInput replaces all limits.
type SetLimitsInput struct{ chat.UsageLimits }

// SetLimits replaces the limits. They count at once, for what was used in the present period too.
func (r *Room) SetLimits(ctx context.Context, _ chat.Principal, in SetLimitsInput) (chat.UsageLimits, error) {
	if in.Default != nil {
		if err := checkLimit("default", *in.Default); err != nil {
			return chat.UsageLimits{}, err
		}
	}
	for role, l := range in.Roles {
		if role != chat.UserAdmin && role != chat.UserMember {
			return chat.UsageLimits{}, chat.Invalid("roles", "there is no role "+strconv.Quote(string(role)))
		}
		if err := checkLimit("roles."+string(role), l); err != nil {
			return chat.UsageLimits{}, err
		}
	}
	if len(in.Users) > maxRules {
		return chat.UsageLimits{}, chat.Invalid("users", "at most "+strconv.Itoa(maxRules)+" people have limits of their own")
	}
	var refused error
	err := r.store.Update(ctx, func(tx *kv.Tx) error {
		refused = nil
		all, err := everybody(tx)
		if err != nil {
			return err
		}
		for id, l := range in.Users {
			if !slices.ContainsFunc(all, func(u UserSum) bool { return u.UserID == id }) {
				refused = chat.Invalid("users", "there is no user "+strconv.Quote(string(id)))
			} else if err := checkLimit("users."+string(id), l); err != nil {
				refused = err
			}
		}
		if refused != nil {
			return nil
		}
		return tx.PutSite(LimitsKey, in.UsageLimits)
	})
	if err == nil {
		err = refused
	}
	return in.UsageLimits, err
}

func checkLimit(field string, l chat.UsageLimit) error {
	switch {
	case l.Period != chat.PeriodDay && l.Period != chat.PeriodWeek && l.Period != chat.PeriodMonth:
		return chat.Invalid(field+".period", "must be "+strings.Join([]string{chat.PeriodDay, chat.PeriodWeek, chat.PeriodMonth}, ", "))
	case l.Micros < chat.NoLimit:
		return chat.Invalid(field+".limit_micros", "must be at least 0, or -1 for none")
	case l.Tokens < chat.NoLimit:
		return chat.Invalid(field+".limit_tokens", "must be at least 0, or -1 for none")
	}
	return nil
}

// StandingInput names a person, "" for oneself.
type StandingInput struct{ UserID chat.UserID }

// StandingOutput is where a person stands; both nil where no limit counts for them.
type StandingOutput struct {
	Limit    *chat.UsageLimit
	Standing *chat.UsageStanding
}

// Standing says how much of a limit a person has used.
func (r *Room) Standing(ctx context.Context, p chat.Principal, in StandingInput) (StandingOutput, error) {
	id := cmp.Or(in.UserID, p.UserID)
	var out StandingOutput
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		out, err = r.standing(tx, id)
		return err
	})
	return out, err
}

// Check refuses with KindUsageLimit when a person has used up a limit. The engine asks it in the transaction of what it would let
// happen. A sum that cannot be read lets it happen, with a warning: work must not stop over bookkeeping.
//
//guard:none the engine asks for whom it acts
func (r *Room) Check(tx *kv.Tx, id chat.UserID) error {
	s, err := r.standing(tx, id)
	if err != nil {
		r.log.Warn("what was used could not be read, so no limit holds", chat.LogUser, id, chat.LogError, err)
		return nil
	}
	if s.Standing == nil || !reached(s.Standing.SpentMicros, s.Limit.Micros) && !reached(s.Standing.SpentTokens, s.Limit.Tokens) {
		return nil
	}
	return &chat.Error{Kind: chat.KindUsageLimit, Message: "The usage limit of this " + s.Limit.Period + " is reached.",
		Detail: "It begins anew on " + s.Standing.ResetsAt.Format("2 January, 15:04") + " UTC. An admin can raise it.", Limit: s.Standing}
}

func reached(spent, limit int64) bool { return limit != chat.NoLimit && spent >= limit }

// standing sums up the present period of the limit that counts for a person.
func (r *Room) standing(tx *kv.Tx, id chat.UserID) (StandingOutput, error) {
	limit, err := limitOf(tx, id)
	if err != nil || limit == nil || limit.Micros == chat.NoLimit && limit.Tokens == chat.NoLimit {
		return StandingOutput{}, err
	}
	first, next := period(limit.Period, r.now())
	days, err := tx.UsageDays(id, first, next-1)
	if err != nil {
		return StandingOutput{}, err
	}
	var sum chat.UsageSum
	for _, d := range days {
		sum = sum.Plus(d.Sum())
	}
	return StandingOutput{Limit: limit, Standing: &chat.UsageStanding{SpentMicros: sum.CostMicros, LimitMicros: limit.Micros,
		SpentTokens: sum.Tokens(), LimitTokens: limit.Tokens, ResetsAt: next.Time()}}, nil
}

// limitOf gives the limit that counts for a person: their own, else their role's, else the default; nil is none.
func limitOf(tx *kv.Tx, id chat.UserID) (*chat.UsageLimit, error) {
	var all chat.UsageLimits
	if found, err := tx.Site(LimitsKey, &all); err != nil || !found {
		return nil, err
	}
	if l, own := all.Users[id]; own {
		return &l, nil
	}
	if len(all.Roles) == 0 {
		return all.Default, nil
	}
	u, found, err := tx.User(id)
	if err != nil {
		return nil, err
	}
	if found {
		if l, ok := all.Roles[u.Role]; ok {
			return &l, nil
		}
	}
	return all.Default, nil
}

// period gives the first day of the period that now lies in, and that of the next one.
func period(name string, now time.Time) (first, next chat.Day) {
	today := chat.DayOf(now)
	switch name {
	case chat.PeriodDay:
		return today, today + 1
	case chat.PeriodWeek:
		// time counts weekdays from Sunday.
		first = today - chat.Day((int(today.Time().Weekday())+6)%7)
		return first, first + 7
	}
	y, m, _ := now.UTC().Date()
	return chat.DayOf(time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)), chat.DayOf(time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC))
}

// everybody gives all people, and those who are gone but used something, by id.
func everybody(tx *kv.Tx) ([]UserSum, error) {
	users, err := tx.Users()
	if err != nil {
		return nil, err
	}
	used, err := tx.UsageUsers()
	if err != nil {
		return nil, err
	}
	var out []UserSum
	for _, u := range users {
		out = append(out, UserSum{UserID: u.ID, Name: u.Name})
	}
	for _, id := range used {
		if !slices.ContainsFunc(users, func(u *chat.User) bool { return u.ID == id }) {
			out = append(out, UserSum{UserID: id})
		}
	}
	slices.SortFunc(out, func(a, b UserSum) int { return cmp.Compare(a.UserID, b.UserID) })
	return out, nil
}
