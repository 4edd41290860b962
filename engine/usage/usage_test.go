package usage_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/usage"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

func newID[T ~string]() T { return T(uuid.Must(uuid.NewV7()).String()) }

func ptr[T any](v T) *T { return &v }

// place is a room with two people, at a moment that a test may move.
type place struct {
	t             *testing.T
	store         *kv.Store
	room          *usage.Room
	guarded       *usage.Guarded
	now           time.Time
	admin, member chat.Principal
}

// newPlace gives a room at noon of Friday, 20 November 2026.
func newPlace(t *testing.T) *place {
	p := &place{t: t, store: kvtest.Open(t), now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	p.room = usage.New(p.store, slog.New(slog.NewTextHandler(io.Discard, nil)), func() time.Time { return p.now })
	p.guarded = usage.NewGuarded(p.room, account.NewGuard(account.StoreOwners(p.store), metric.New()))
	p.admin = chat.Principal{UserID: newID[chat.UserID](), Name: "ada", Role: chat.UserAdmin}
	p.member = chat.Principal{UserID: newID[chat.UserID](), Name: "mo", Role: chat.UserMember}
	p.update(func(tx *kv.Tx) error {
		return errors.Join(tx.PutUser(&chat.User{ID: p.admin.UserID, Name: "ada", Role: chat.UserAdmin}),
			tx.PutUser(&chat.User{ID: p.member.UserID, Name: "mo", Role: chat.UserMember}))
	})
	return p
}

func (p *place) update(fn func(*kv.Tx) error) {
	p.t.Helper()
	if err := p.store.Update(context.Background(), fn); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) chat(owner chat.Principal, title string, parent *chat.Chat) *chat.Chat {
	p.t.Helper()
	id := newID[chat.ID]()
	c := &chat.Chat{ID: id, RootID: id, OwnerID: owner.UserID, Title: title, State: chat.Waiting}
	if parent != nil {
		c.ParentID, c.RootID = parent.ID, parent.RootID
	}
	p.update(func(tx *kv.Tx) error { return tx.PutChat(c) })
	return c
}

// use is one call of a Chat; a nil cost has no price.
func (p *place) use(c *chat.Chat, model, kind string, tokens int64, cost *int64, at time.Time) {
	p.t.Helper()
	p.update(func(tx *kv.Tx) error {
		return tx.PutUsage(&chat.UsageEntry{ChatID: c.ID, RootID: c.RootID, UserID: c.OwnerID, Model: model, Kind: kind, CostMicros: cost,
			Usage: chat.Usage{InputTokens: ptr(tokens - 1), OutputTokens: ptr(int64(1))}, RuntimeMS: 10, At: at})
	})
}

func (p *place) check(who chat.Principal) error {
	p.t.Helper()
	var refused error
	err := p.store.View(context.Background(), func(tx *kv.Tx) error {
		refused = p.room.Check(tx, who.UserID)
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return refused
}

func isKind(err error, k chat.Kind) bool {
	var e *chat.Error
	return errors.As(err, &e) && e.Kind == k
}

func TestCase75Prices(t *testing.T) {
	one, none := ptr(int64(1)), (*int64)(nil)
	tests := []struct {
		name            string
		in, out, cached string
		usage           chat.Usage
		want            *int64
	}{
		{"3 and 15 per million", "3", "15", "", chat.Usage{InputTokens: one, OutputTokens: one}, ptr(int64(18))},
		{"no price", "", "", "", chat.Usage{InputTokens: one, OutputTokens: one}, nil},
		{"no price and no tokens", "", "", "", chat.Usage{}, nil},
		{"free", "0", "0", "", chat.Usage{InputTokens: one, OutputTokens: one}, ptr(int64(0))},
		{"a tenth of a micro", "0.1", "0", "", chat.Usage{InputTokens: one, OutputTokens: one}, ptr(int64(1))},
		{"rounded once, not per category", "0.4", "0.4", "", chat.Usage{InputTokens: one, OutputTokens: one}, ptr(int64(1))},
		{"exact decimals", "0.1", "0.2", "", chat.Usage{InputTokens: ptr(int64(10)), OutputTokens: ptr(int64(10))}, ptr(int64(3))},
		{"an output without a price", "3", "", "", chat.Usage{InputTokens: one, OutputTokens: one}, nil},
		{"no output was used", "3", "", "", chat.Usage{InputTokens: one, OutputTokens: none}, ptr(int64(3))},
		{"reasoning is part of the output", "0", "15", "", chat.Usage{OutputTokens: ptr(int64(5)), ReasoningTokens: ptr(int64(4))}, ptr(int64(75))},
		{"cached input has its own price", "3", "15", "0.3", chat.Usage{InputTokens: ptr(int64(110)), CacheReadTokens: ptr(int64(100))}, ptr(int64(60))},
		{"cached input without a price", "3", "15", "", chat.Usage{InputTokens: ptr(int64(110)), CacheReadTokens: ptr(int64(100))}, nil},
		{"more cached than read", "3", "15", "1", chat.Usage{InputTokens: ptr(int64(5)), CacheReadTokens: ptr(int64(10))}, ptr(int64(10))},
		{"no decimal", "a lot", "1", "", chat.Usage{InputTokens: one}, nil},
		{"too much for a number", "9999999", "1", "", chat.Usage{InputTokens: ptr(int64(math.MaxInt64))}, ptr(int64(math.MaxInt64))},
	}
	price := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			got := usage.CostMicros(chat.ModelConfig{PriceInput: price(x.in), PriceOutput: price(x.out), PriceCached: price(x.cached)}, x.usage)
			if (got == nil) != (x.want == nil) || got != nil && *got != *x.want {
				t.Errorf("cost %v, want %v", show(got), show(x.want))
			}
		})
	}
}

func show(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

func TestSumsTellFreeFromUnpriced(t *testing.T) {
	free, unpriced := chat.SumOf(&chat.UsageEntry{CostMicros: ptr(int64(0))}), chat.SumOf(&chat.UsageEntry{})
	if c := free.Cost(); c == nil || *c != 0 {
		t.Errorf("free costs %v", show(c))
	}
	if c := unpriced.Cost(); c != nil {
		t.Errorf("without a price it costs %d", *c)
	}
	if both := free.Plus(unpriced); both.Cost() == nil || both.Unpriced != 1 || both.Requests != 2 {
		t.Errorf("both are %+v", both)
	}
	if c := (chat.UsageSum{}).Cost(); c == nil || *c != 0 {
		t.Errorf("nothing costs %v", show(c))
	}
	large := chat.UsageSum{CostMicros: math.MaxInt64}
	if got := large.Plus(chat.UsageSum{CostMicros: 5}).CostMicros; got != math.MaxInt64 {
		t.Errorf("the largest cost and 5 are %d", got)
	}
}

func TestSummary(t *testing.T) {
	p := newPlace(t)
	ctx := context.Background()
	first := p.chat(p.member, "first", nil)
	child := p.chat(p.member, "child", first)
	second := p.chat(p.member, "second", nil)
	foreign := p.chat(p.admin, "foreign", nil)
	day := func(d int) time.Time { return time.Date(2026, 11, d, 23, 59, 0, 0, time.UTC) }
	p.use(first, "a:1b", chat.UsageTurn, 100, ptr(int64(5)), day(18))
	p.use(child, "b:2b", chat.UsageTurn, 50, nil, day(19))
	p.use(second, "a:1b", chat.UsageTitle, 30, nil, day(19))
	p.use(second, "a:1b", chat.UsageTurn, 1000, ptr(int64(7)), day(20))
	p.use(foreign, "a:1b", chat.UsageTurn, 7, nil, day(19))

	cost, err := p.guarded.ChatCost(ctx, p.member, usage.ChatCostInput{ChatID: child.ID})
	if err != nil || cost.RootID != first.ID || cost.Sum.Tokens() != 150 || cost.Sum.Requests != 2 || cost.Sum.Unpriced != 1 || *cost.Sum.Cost() != 5 {
		t.Errorf("the family cost %+v, %v", cost, err)
	}
	some := usage.Range{First: chat.DayOf(day(18)), Last: chat.DayOf(day(19))}
	got, err := p.guarded.Summary(ctx, p.member, usage.SummaryInput{Range: some})
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "mo" || got.Sum.Tokens() != 180 || got.Sum.RuntimeMS != 30 || len(got.Days) != 2 || got.Days[0].Sum().Tokens() != 100 {
		t.Errorf("the summary is %+v", got)
	}
	if len(got.Models) != 2 || got.Models[0].Model != "a:1b" || got.Models[0].Sum.Tokens() != 130 || len(got.Kinds) != 2 {
		t.Errorf("models %+v, kinds %+v", got.Models, got.Kinds)
	}
	if len(got.Chats) != 2 || got.Chats[0].Title != "first" || got.Chats[0].Sum.Tokens() != 150 || got.Chats[1].Title != "second" {
		t.Errorf("chats %+v", got.Chats)
	}

	// An admin sees what others used, but not what they call it.
	got, err = p.guarded.Summary(ctx, p.admin, usage.SummaryInput{UserID: p.member.UserID, Range: usage.AllTime})
	if err != nil || got.Sum.Tokens() != 1180 || len(got.Chats) != 2 || got.Chats[0].Title != "" || got.Chats[0].Gone {
		t.Errorf("another's summary is %+v, %v", got, err)
	}
	p.update(func(tx *kv.Tx) error { return tx.DeleteFamily(first.ID) })
	got, err = p.guarded.Summary(ctx, p.member, usage.SummaryInput{Range: usage.AllTime})
	if err != nil || got.Sum.Tokens() != 1180 || !got.Chats[1].Gone || got.Chats[1].Sum.Tokens() != 150 {
		t.Errorf("with a chat that is gone: %+v, %v", got, err)
	}

	all, err := p.guarded.Overall(ctx, p.admin, usage.OverallInput{Range: usage.AllTime})
	if err != nil || all.Sum.Tokens() != 1187 || len(all.Days) != 3 || all.Days[1].Sum().Tokens() != 87 || len(all.Chats) != 0 {
		t.Errorf("all together: %+v, %v", all, err)
	}
	page, err := p.guarded.Users(ctx, p.admin, usage.UsersInput{Range: usage.AllTime, Limit: 1})
	if err != nil || len(page.Users) != 1 || !page.HasMore || page.Users[0].Name != "ada" || page.Users[0].Sum.Tokens() != 7 {
		t.Errorf("the first page: %+v, %v", page, err)
	}
	page, err = p.guarded.Users(ctx, p.admin, usage.UsersInput{Range: some, Limit: 1, After: page.Users[0].UserID})
	if err != nil || len(page.Users) != 1 || page.HasMore || page.Users[0].Name != "mo" || page.Users[0].Sum.Tokens() != 180 {
		t.Errorf("the second page: %+v, %v", page, err)
	}
}

func TestWhoMaySeeAndSetWhat(t *testing.T) {
	p := newPlace(t)
	ctx := context.Background()
	foreign := p.chat(p.admin, "foreign", nil)
	run := map[string]struct {
		want chat.Kind
		call func() error
	}{
		"another's chat": {chat.KindNotFound, func() error {
			_, err := p.guarded.ChatCost(ctx, p.member, usage.ChatCostInput{ChatID: foreign.ID})
			return err
		}},
		"another's summary": {chat.KindNotFound, func() error {
			_, err := p.guarded.Summary(ctx, p.member, usage.SummaryInput{UserID: p.admin.UserID})
			return err
		}},
		"nobody's summary": {chat.KindNotFound, func() error {
			_, err := p.guarded.Summary(ctx, p.admin, usage.SummaryInput{UserID: newID[chat.UserID]()})
			return err
		}},
		"all": {chat.KindForbidden, func() error {
			_, err := p.guarded.Overall(ctx, p.member, usage.OverallInput{})
			return err
		}},
		"users": {chat.KindForbidden, func() error {
			_, err := p.guarded.Users(ctx, p.member, usage.UsersInput{})
			return err
		}},
		"set limits": {chat.KindForbidden, func() error {
			_, err := p.guarded.SetLimits(ctx, p.member, usage.SetLimitsInput{})
			return err
		}},
		"a range that ends before it begins": {chat.KindInvalid, func() error {
			_, err := p.guarded.Summary(ctx, p.member, usage.SummaryInput{Range: usage.Range{First: 2, Last: 1}})
			return err
		}},
	}
	for name, x := range run {
		if err := x.call(); !isKind(err, x.want) {
			t.Errorf("%s: %v, want %s", name, err, x.want)
		}
	}
}

func TestLimitsAreChecked(t *testing.T) {
	p := newPlace(t)
	ctx := context.Background()
	got, err := p.guarded.Limits(ctx, p.member, usage.LimitsInput{})
	if err != nil || *got.Default != (chat.UsageLimit{Period: chat.PeriodMonth, Micros: -1, Tokens: -1}) {
		t.Errorf("nothing is set: %+v, %v", got, err)
	}
	ok := chat.UsageLimit{Period: chat.PeriodWeek, Micros: 5, Tokens: chat.NoLimit}
	for name, bad := range map[string]chat.UsageLimits{
		"period": {Default: &chat.UsageLimit{Period: "year"}},
		"micros": {Default: &chat.UsageLimit{Period: chat.PeriodDay, Micros: -2}},
		"tokens": {Roles: map[chat.UserRole]chat.UsageLimit{chat.UserMember: {Period: chat.PeriodDay, Tokens: -2}}},
		"role":   {Roles: map[chat.UserRole]chat.UsageLimit{"king": ok}},
		"nobody": {Users: map[chat.UserID]chat.UsageLimit{newID[chat.UserID](): ok}},
		"own":    {Users: map[chat.UserID]chat.UsageLimit{p.member.UserID: {}}},
	} {
		if _, err := p.guarded.SetLimits(ctx, p.admin, usage.SetLimitsInput{UsageLimits: bad}); !isKind(err, chat.KindInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	want := chat.UsageLimits{Default: &ok, Users: map[chat.UserID]chat.UsageLimit{p.member.UserID: ok}}
	if _, err := p.guarded.SetLimits(ctx, p.admin, usage.SetLimitsInput{UsageLimits: want}); err != nil {
		t.Fatal(err)
	}
	got, err = p.guarded.Limits(ctx, p.member, usage.LimitsInput{})
	if err != nil || *got.Default != ok || got.Users[p.member.UserID] != ok || len(got.Roles) != 0 {
		t.Errorf("what was set: %+v, %v", got, err)
	}
}

func TestWhichLimitCounts(t *testing.T) {
	p := newPlace(t)
	c := p.chat(p.member, "a", nil)
	p.use(c, "m", chat.UsageTurn, 100, nil, p.now)
	of := func(tokens int64) chat.UsageLimit {
		return chat.UsageLimit{Period: chat.PeriodMonth, Micros: chat.NoLimit, Tokens: tokens}
	}
	roles := func(r chat.UserRole, tokens int64) map[chat.UserRole]chat.UsageLimit {
		return map[chat.UserRole]chat.UsageLimit{r: of(tokens)}
	}
	own := func(tokens int64) map[chat.UserID]chat.UsageLimit {
		return map[chat.UserID]chat.UsageLimit{p.member.UserID: of(tokens)}
	}
	for name, x := range map[string]struct {
		limits  chat.UsageLimits
		refused bool
	}{
		"none":                          {chat.UsageLimits{}, false},
		"default":                       {chat.UsageLimits{Default: ptr(of(100))}, true},
		"default above":                 {chat.UsageLimits{Default: ptr(of(101))}, false},
		"default without":               {chat.UsageLimits{Default: ptr(of(-1))}, false},
		"role over default":             {chat.UsageLimits{Default: ptr(of(1)), Roles: roles(chat.UserMember, 101)}, false},
		"another role":                  {chat.UsageLimits{Default: ptr(of(1)), Roles: roles(chat.UserAdmin, -1)}, true},
		"own over role":                 {chat.UsageLimits{Roles: roles(chat.UserMember, 101), Users: own(100)}, true},
		"own without, role and default": {chat.UsageLimits{Default: ptr(of(0)), Roles: roles(chat.UserMember, 0), Users: own(-1)}, false},
		"zero":                          {chat.UsageLimits{Default: ptr(of(0))}, true},
		// Calls without a price add nothing to the cost.
		"unpriced cost": {chat.UsageLimits{Default: &chat.UsageLimit{Period: chat.PeriodMonth, Micros: 1, Tokens: -1}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := p.room.SetLimits(context.Background(), p.admin, usage.SetLimitsInput{UsageLimits: x.limits}); err != nil {
				t.Fatal(err)
			}
			if err := p.check(p.member); isKind(err, chat.KindUsageLimit) != x.refused || (err != nil) != x.refused {
				t.Errorf("the check says %v", err)
			}
		})
	}
}

func TestPeriods(t *testing.T) {
	at := func(month time.Month, day, hour int) time.Time {
		return time.Date(2026, month, day, hour, 0, 0, 0, time.UTC)
	}
	// 20 November 2026 is a Friday, 16 a Monday.
	for _, x := range []struct {
		name, period string
		used, now    time.Time
		refused      bool
		resets       time.Time
	}{
		{"the same day", chat.PeriodDay, at(11, 20, 0), at(11, 20, 23), true, at(11, 21, 0)},
		{"the day before", chat.PeriodDay, at(11, 19, 23), at(11, 20, 0), false, time.Time{}},
		{"Monday to Sunday", chat.PeriodWeek, at(11, 16, 0), at(11, 22, 23), true, at(11, 23, 0)},
		{"Sunday to Monday", chat.PeriodWeek, at(11, 15, 23), at(11, 16, 0), false, time.Time{}},
		{"on a Monday", chat.PeriodWeek, at(11, 16, 0), at(11, 16, 1), true, at(11, 23, 0)},
		{"the first of the month", chat.PeriodMonth, at(11, 1, 0), at(11, 30, 23), true, at(12, 1, 0)},
		{"the month before", chat.PeriodMonth, at(10, 31, 23), at(11, 1, 0), false, time.Time{}},
		{"the end of the year", chat.PeriodMonth, at(12, 1, 0), at(12, 31, 23), true, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := newPlace(t)
			p.now = x.now
			p.use(p.chat(p.member, "a", nil), "m", chat.UsageTurn, 10, ptr(int64(3)), x.used)
			limit := chat.UsageLimit{Period: x.period, Micros: 3, Tokens: chat.NoLimit}
			if _, err := p.room.SetLimits(context.Background(), p.admin, usage.SetLimitsInput{UsageLimits: chat.UsageLimits{Default: &limit}}); err != nil {
				t.Fatal(err)
			}
			err := p.check(p.member)
			if isKind(err, chat.KindUsageLimit) != x.refused {
				t.Fatalf("the check says %v", err)
			}
			got, standErr := p.guarded.Standing(context.Background(), p.member, usage.StandingInput{})
			if standErr != nil || got.Standing == nil || *got.Limit != limit {
				t.Fatalf("the standing is %+v, %v", got, standErr)
			}
			if !x.refused {
				if got.Standing.SpentMicros != 0 {
					t.Errorf("spent %d in the new period", got.Standing.SpentMicros)
				}
				return
			}
			var refused *chat.Error
			errors.As(err, &refused)
			if want := (chat.UsageStanding{SpentMicros: 3, LimitMicros: 3, SpentTokens: 10, LimitTokens: -1, ResetsAt: x.resets}); *refused.Limit != want ||
				*got.Standing != want {
				t.Errorf("%+v and %+v, want %+v", *refused.Limit, *got.Standing, want)
			}
		})
	}
}

// BenchmarkSummary is a year of one person: 100,000 entries in 5,000 families, and the check of a month's limit.
func BenchmarkSummary(b *testing.B) {
	store := kvtest.Open(b)
	now := time.Now().UTC()
	room := usage.New(store, slog.New(slog.DiscardHandler), nil)
	who := chat.Principal{UserID: newID[chat.UserID](), Role: chat.UserAdmin}
	var last chat.ID
	for family := 0; family < 5000; family += 50 {
		err := store.Update(context.Background(), func(tx *kv.Tx) error {
			for i := range 50 {
				id := newID[chat.ID]()
				last = id
				if err := tx.PutChat(&chat.Chat{ID: id, RootID: id, OwnerID: who.UserID, State: chat.Waiting}); err != nil {
					return err
				}
				for range 20 {
					if err := tx.PutUsage(&chat.UsageEntry{ChatID: id, RootID: id, UserID: who.UserID, Model: "qwen3-coder:30b", Kind: chat.UsageTurn,
						Usage: chat.Usage{InputTokens: ptr(int64(900)), OutputTokens: ptr(int64(90))}, At: now.AddDate(0, 0, -(family+i)%365)}); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	limit := chat.UsageLimits{Default: &chat.UsageLimit{Period: chat.PeriodMonth, Micros: -1, Tokens: 1 << 60}}
	if _, err := room.SetLimits(context.Background(), who, usage.SetLimitsInput{UsageLimits: limit}); err != nil {
		b.Fatal(err)
	}
	b.Run("year", func(b *testing.B) {
		for b.Loop() {
			s, err := room.Summary(context.Background(), who, usage.SummaryInput{Range: usage.AllTime})
			if err != nil || s.Sum.Requests != 100_000 {
				b.Fatal(s.Sum, err)
			}
		}
	})
	b.Run("all people", func(b *testing.B) {
		for b.Loop() {
			if s, err := room.Overall(context.Background(), who, usage.OverallInput{Range: usage.AllTime}); err != nil || s.Sum.Requests != 100_000 {
				b.Fatal(s.Sum, err)
			}
		}
	})
	b.Run("limit", func(b *testing.B) {
		for b.Loop() {
			if err := store.View(context.Background(), func(tx *kv.Tx) error { return room.Check(tx, who.UserID) }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("family", func(b *testing.B) {
		for b.Loop() {
			if _, err := room.ChatCost(context.Background(), who, usage.ChatCostInput{ChatID: last}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestTheAdvisorsSums: of a person, and of all; days out of the range do not count, and the median is that of all consultations.
func TestTheAdvisorsSums(t *testing.T) {
	p := newPlace(t)
	ctx := context.Background()
	today := chat.DayOf(p.now)
	p.update(func(tx *kv.Tx) error {
		add := func(who chat.Principal, ago chat.Day, turns, limited int, took ...int64) error {
			return tx.AddAdvised(chat.AdvisedDay{UserID: who.UserID, Day: today - ago, Turns: turns, Limited: limited, TookMS: took})
		}
		return errors.Join(add(p.member, 0, 1, 0, 4000), add(p.member, 0, 1, 1, 1000), add(p.member, 6, 2, 0, 9000), add(p.member, 7, 5, 5, 1), add(p.admin, 3, 1, 1, 2000, 6000, 7000))
	})
	week := usage.Range{First: today - 6, Last: today}
	own, err := p.guarded.Summary(ctx, p.member, usage.SummaryInput{Range: week})
	if want := (usage.Advised{Turns: 4, Limited: 1, Median: 4 * time.Second}); err != nil || own.Advised != want {
		t.Errorf("%+v, %v", own.Advised, err)
	}
	all, err := p.guarded.Overall(ctx, p.admin, usage.OverallInput{Range: week})
	if want := (usage.Advised{Turns: 5, Limited: 2, Median: 5 * time.Second}); err != nil || all.Advised != want {
		t.Errorf("%+v, %v", all.Advised, err)
	}
	none, err := p.guarded.Summary(ctx, p.admin, usage.SummaryInput{Range: usage.Range{First: today, Last: today}})
	if err != nil || none.Advised != (usage.Advised{}) {
		t.Errorf("%+v, %v", none.Advised, err)
	}
}
