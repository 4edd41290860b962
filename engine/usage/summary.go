package usage

import (
	"context"
	"errors"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// maxChats is how many Chats a Summary names.
const maxChats = 200

// SummaryInput names a person, "" for oneself, and the days.
type SummaryInput struct {
	UserID chat.UserID
	Range  Range
}

// Summary is what was used in a range of days. UserID is "" in the one of all people, which names no Chats.
type Summary struct {
	UserID chat.UserID
	Name   string
	Range  Range
	Sum    chat.UsageSum
	// Models, Chats and Kinds are the largest first.
	Models []ModelSum
	Kinds  []KindSum
	// Advised is what is known of the Turns that asked the advisor.
	Advised Advised
	// Days are those with usage, oldest first, their lines by model and kind.
	Days  []chat.UsageDay
	Chats []ChatSum
	// ChatsLeftOut is how many smaller Chats are not in Chats.
	ChatsLeftOut int
}

// ModelSum is the share of one model.
type ModelSum struct {
	ModelConfigID chat.ModelConfigID
	Model         string
	Sum           chat.UsageSum
}

// KindSum is the share of one kind of call.
type KindSum struct {
	Kind string
	Sum  chat.UsageSum
}

// ChatSum is the share of a root Chat with all Chats below it. Title is "" for everybody but the owner and when Gone.
type ChatSum struct {
	RootID chat.ID
	Title  string
	Gone   bool
	Sum    chat.UsageSum
}

// Summary gives what a person used.
func (r *Room) Summary(ctx context.Context, p chat.Principal, in SummaryInput) (Summary, error) {
	if err := in.Range.check(); err != nil {
		return Summary{}, err
	}
	if in.UserID == "" {
		in.UserID = p.UserID
	}
	var out Summary
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		out = Summary{UserID: in.UserID, Range: in.Range}
		u, found, err := tx.User(in.UserID)
		if err != nil {
			return err
		}
		if found {
			out.Name = u.Name
		}
		days, err := tx.UsageDays(in.UserID, in.Range.First, in.Range.Last)
		if err != nil {
			return err
		}
		if !found && len(days) == 0 && in.UserID != p.UserID {
			return chat.NotFound("user")
		}
		for _, d := range days {
			out.Days = append(out.Days, *d)
		}
		out.Advised, err = advised(tx, in.UserID, in.Range)
		return err
	})
	if err != nil {
		return Summary{}, err
	}
	out.sum()
	return out, r.chats(ctx, p, &out)
}

// piece is how many days one look at the store takes: a year of a busy person is too much for one.
const piece = 31

// chats fills in the largest Chats.
func (r *Room) chats(ctx context.Context, p chat.Principal, s *Summary) error {
	if len(s.Days) == 0 {
		return nil
	}
	sums := map[chat.ID]chat.UsageSum{}
	for first, last := s.Days[0].Day, s.Days[len(s.Days)-1].Day; first <= last; first += piece {
		err := r.store.View(ctx, func(tx *kv.Tx) error {
			return tx.EachUsage(s.UserID, first, min(first+piece-1, last), func(d *chat.UsageDay) { sums[d.RootID] = sums[d.RootID].Plus(d.Sum()) })
		})
		if err != nil {
			return err
		}
	}
	for id, sum := range sums {
		s.Chats = append(s.Chats, ChatSum{RootID: id, Sum: sum})
	}
	byTokens(s.Chats, func(c ChatSum) (chat.UsageSum, string) { return c.Sum, string(c.RootID) })
	if len(s.Chats) > maxChats {
		s.ChatsLeftOut = len(s.Chats) - maxChats
		s.Chats = s.Chats[:maxChats]
	}
	return r.store.View(ctx, func(tx *kv.Tx) error {
		for i := range s.Chats {
			c, found, err := tx.Chat(s.Chats[i].RootID)
			if err != nil && !errors.Is(err, kv.ErrDamaged) {
				return err
			}
			if s.Chats[i].Gone = !found; found && c.OwnerID == p.UserID {
				s.Chats[i].Title = c.Title
			}
		}
		return nil
	})
}

// sum adds up the days.
func (s *Summary) sum() {
	models, kinds := map[ModelSum]chat.UsageSum{}, map[string]chat.UsageSum{}
	for _, d := range s.Days {
		for _, l := range d.Lines {
			m := ModelSum{ModelConfigID: l.ModelConfigID, Model: l.Model}
			s.Sum, models[m], kinds[l.Kind] = s.Sum.Plus(l.UsageSum), models[m].Plus(l.UsageSum), kinds[l.Kind].Plus(l.UsageSum)
		}
	}
	for m, sum := range models {
		m.Sum = sum
		s.Models = append(s.Models, m)
	}
	for kind, sum := range kinds {
		s.Kinds = append(s.Kinds, KindSum{Kind: kind, Sum: sum})
	}
	byTokens(s.Models, func(m ModelSum) (chat.UsageSum, string) { return m.Sum, m.Model + string(m.ModelConfigID) })
	byTokens(s.Kinds, func(k KindSum) (chat.UsageSum, string) { return k.Sum, k.Kind })
}

// OverallInput names the days.
type OverallInput struct{ Range Range }

// Overall gives what all people used together.
func (r *Room) Overall(ctx context.Context, _ chat.Principal, in OverallInput) (Summary, error) {
	if err := in.Range.check(); err != nil {
		return Summary{}, err
	}
	byDay := map[chat.Day]*chat.UsageDay{}
	var asked Advised
	first, last := in.Range.Last, in.Range.First
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		clear(byDay)
		var err error
		if asked, err = advised(tx, "", in.Range); err != nil {
			return err
		}
		users, err := tx.UsageUsers()
		if err != nil {
			return err
		}
		for _, id := range users {
			days, err := tx.UsageDays(id, in.Range.First, in.Range.Last)
			if err != nil {
				return err
			}
			for _, d := range days {
				if byDay[d.Day] == nil {
					byDay[d.Day] = &chat.UsageDay{Day: d.Day}
					first, last = min(first, d.Day), max(last, d.Day)
				}
				for _, l := range d.Lines {
					byDay[d.Day].Add(l)
				}
			}
		}
		return nil
	})
	out := Summary{Range: in.Range, Advised: asked}
	for day := first; day <= last; day++ {
		if d := byDay[day]; d != nil {
			out.Days = append(out.Days, *d)
		}
	}
	out.sum()
	return out, err
}

// UsersInput asks for a page of people by id, behind After, at most Limit.
type UsersInput struct {
	Range Range
	After chat.UserID
	Limit int
}

// UsersOutput is a page of people, by id.
type UsersOutput struct {
	Users   []UserSum
	HasMore bool
}

// UserSum is the share of one person. Name is "" for somebody who is gone.
type UserSum struct {
	UserID chat.UserID
	Name   string
	Sum    chat.UsageSum
}

// Users gives what each person used; everybody is listed, also who used nothing.
func (r *Room) Users(ctx context.Context, _ chat.Principal, in UsersInput) (UsersOutput, error) {
	if err := in.Range.check(); err != nil {
		return UsersOutput{}, err
	}
	var out UsersOutput
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		out = UsersOutput{}
		all, err := everybody(tx)
		if err != nil {
			return err
		}
		for _, u := range all {
			if u.UserID <= in.After {
				continue
			}
			if in.Limit > 0 && len(out.Users) == in.Limit {
				out.HasMore = true
				break
			}
			days, err := tx.UsageDays(u.UserID, in.Range.First, in.Range.Last)
			if err != nil {
				return err
			}
			for _, d := range days {
				u.Sum = u.Sum.Plus(d.Sum())
			}
			out.Users = append(out.Users, u)
		}
		return nil
	})
	return out, err
}

// Largest orders people by what they used, the largest first.
func Largest(list []UserSum) []UserSum {
	byTokens(list, func(u UserSum) (chat.UsageSum, string) { return u.Sum, u.Name })
	return list
}
