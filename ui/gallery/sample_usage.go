package gallery

import (
	"strconv"
	"time"

	"holdfast/engine/chat"
	"holdfast/ui/view"
)

// sumOf is a sum of calls, input, output and seconds; micros below 0 is no price.
func sumOf(calls, in, out, seconds, micros int64) chat.UsageSum {
	s := chat.UsageSum{Requests: calls, InputTokens: in, OutputTokens: out, CacheReadTokens: in * 91 / 100, RuntimeMS: seconds * 1000, CostMicros: max(micros, 0)}
	if micros < 0 {
		s.Unpriced = calls
	}
	return s
}

// usageDays are fourteen days in November: thousands of tokens of Turns, the advisor and the small calls, and minutes.
func usageDays() []view.UsageColumn {
	days := [14][4]int64{{270, 30, 13, 21}, {45, 3, 2, 3}, {196, 14, 8, 15}, {355, 52, 18, 32}, {298, 54, 14, 27}, {180, 16, 7, 14}, {334, 36, 17, 29},
		{31, 3, 2, 2}, {36, 2, 2, 3}, {163, 28, 6, 12}, {283, 53, 13, 26}, {249, 22, 11, 20}, {298, 49, 14, 30}, {340, 28, 17, 31}}
	var out []view.UsageColumn
	for i, d := range days {
		day := strconv.Itoa(7 + i)
		out = append(out, view.UsageColumn{Label: day, Full: day + " November", Tokens: [3]int64{d[0] * 1000, d[1] * 1000, d[2] * 1000},
			Sum: sumOf(d[0]/3, (d[0]+d[1]+d[2])*920, (d[0]+d[1]+d[2])*80, d[3]*60, d[0]*480)})
	}
	return out
}

func usageModels() []view.UsageRow {
	return []view.UsageRow{{Name: "qwen3-coder:30b", Sum: sumOf(1351, 2_944_120, 231_802, 16_860, 1_310_000)},
		{Name: "gpt-oss:20b", Sum: sumOf(61, 301_455, 38_960, 2880, -1)}, {Name: "hf.co/unsloth/Qwen3-VL-8B-Instruct-GGUF:UD-Q4_K_XL", Sum: sumOf(14, 85_310, 5768, 1860, 260_018)},
		{Name: "qwen3:4b-instruct", Sum: sumOf(148, 78_204, 9733, 720, 0)}}
}

func usage(p view.Page) view.UsagePage {
	sum := chat.UsageSum{}
	for _, m := range usageModels() {
		sum = sum.Plus(m.Sum)
	}
	return view.UsagePage{Page: p, Note: note(), Lead: "Fourteen days in UTC, your own chats. Counted here, kept here.", Range: "14", Export: "/gallery/",
		Ranges: ranges("14 days"), Sum: sum, Columns: usageDays(), Unit: "day", Models: usageModels(), RowsTitle: "chat", MoreRows: 31,
		People: []view.Option{{Label: "Me", Selected: true}, {Value: "2", Label: "ingrid"}, {Value: "all", Label: "All people"}}, Allowance: allowance(false),
		Rows: []view.UsageRow{{Name: "Retry the tide feed with backoff", Href: "/gallery/page/chat", Sum: sumOf(212, 1_204_100, 88_120, 7200, 540_000)},
			{Name: "Import the 2019 gauge archive, which is rather large and has a title to match", Href: "/gallery/page/chat", Sum: sumOf(97, 804_000, 41_015, 4100, -1)},
			{Name: "A deleted chat", Sum: sumOf(3, 9120, 404, 31, 18)}},
		Limits: &view.LimitsForm{Rows: []view.LimitRow{{Who: "default", Name: "Everybody", Period: "month", Cost: "10.00"},
			{Who: "role admin", Name: "All admins", Base: "as everybody", Period: "month"}, {Who: "role member", Name: "All members", Base: "as everybody"},
			{Who: "user 1", Name: "ingrid", Base: "as the role", Period: "week", Cost: "2.50", Tokens: "5,000,000"}, {Who: "user 2", Name: "owner", Base: "as the role"}}}}
}

func usageYear(p view.Page) view.UsagePage {
	u := usage(p)
	u.Lead, u.Ranges, u.Unit, u.Columns, u.Limits = "Twelve months in UTC, all people. Counted here, kept here.", ranges("Year"), "month", nil, nil
	u.Allowance, u.RowsTitle, u.MoreRows = nil, "person", 0
	u.Rows = []view.UsageRow{{Name: "ingrid", Href: "/gallery/", Sum: sumOf(1412, 3_001_000, 250_100, 20_000, 1_200_000)}, {Name: "owner", Href: "/gallery/", Sum: sumOf(162, 418_089, 36_163, 2320, -1)}}
	for m := time.December; m < 24; m++ {
		at := time.Date(2025, m, 1, 0, 0, 0, 0, time.UTC)
		n := int64(m) * 70_000
		u.Columns = append(u.Columns, view.UsageColumn{Label: at.Format("Jan"), Full: at.Format("January 2006"), Tokens: [3]int64{n, n / 9, n / 40}, Sum: sumOf(n/4000, n, n/12, n/190, n/3)})
	}
	return u
}

func usageDay(p view.Page) view.UsagePage {
	u := usage(p)
	u.Lead, u.Ranges, u.Columns, u.Limits, u.People = "Today in UTC, your own chats. Counted here, kept here.", ranges("Today"), u.Columns[13:], nil, nil
	u.Models, u.Rows, u.MoreRows, u.Allowance = u.Models[1:2], u.Rows[1:2], 0, allowance(true)
	u.Sum = u.Models[0].Sum
	u.Kinds = []view.UsageRow{{Name: "Turns", Sum: sumOf(55, 290_000, 38_000, 2800, -1)}, {Name: "Compaction", Sum: sumOf(2, 10_400, 800, 70, -1)}, {Name: "Titles", Sum: sumOf(4, 1055, 160, 10, -1)}}
	return u
}

func usageNone(p view.Page) view.UsagePage {
	return view.UsagePage{Page: p, Note: note(), Lead: "Fourteen days in UTC, your own chats. Counted here, kept here.", Ranges: ranges("14 days"), Export: "/gallery/"}
}

func ranges(here string) []view.RangeLink {
	var out []view.RangeLink
	for _, name := range []string{"Today", "14 days", "Year"} {
		out = append(out, view.RangeLink{Label: name, Href: "/gallery/page/usage", Here: name == here})
	}
	return out
}

func allowance(reached bool) *view.Allowance {
	s := chat.UsageStanding{SpentMicros: 3_204_000, LimitMicros: 10_000_000, SpentTokens: 3_704_577, LimitTokens: 20_000_000, ResetsAt: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	if reached {
		s.SpentTokens, s.LimitTokens, s.LimitMicros = 5_000_120, 5_000_000, chat.NoLimit
	}
	return &view.Allowance{Period: "month", Standing: s}
}
