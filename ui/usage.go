package ui

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/engine/usage"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

const (
	// shownRows is how many chats or people the usage page lists.
	shownRows = 20
	// limitedPeople is how many people the form of limits lists; the API sets those of more.
	limitedPeople = 100
	// allPeople is the choice of everybody's usage together.
	allPeople = "all"
)

// usageRange is one choice of days. Months: the plots are by month.
type usageRange struct {
	name, label, lead string
	months            bool
}

var usageRanges = [3]usageRange{
	{name: "day", label: "Today", lead: "Today"}, {name: "14", label: "14 days", lead: "Fourteen days"}, {name: "year", label: "Year", lead: "Twelve months", months: true}}

// days are those of the range that ends today, in UTC as the sums are.
func (u usageRange) days(now time.Time) usage.Range {
	today := chat.DayOf(now)
	switch u.name {
	case "day":
		return usage.Range{First: today, Last: today}
	case "year":
		y, m, _ := now.UTC().Date()
		return usage.Range{First: chat.DayOf(time.Date(y, m-11, 1, 0, 0, 0, 0, time.UTC)), Last: today}
	}
	return usage.Range{First: today - 13, Last: today}
}

func rangeOf(r *http.Request) usageRange {
	for _, u := range usageRanges {
		if u.name == r.URL.Query().Get("range") {
			return u
		}
	}
	return usageRanges[1]
}

// used gives the sums that the address asks for.
func (s *Site) used(r *http.Request) (usage.Summary, usageRange, error) {
	chosen, user := rangeOf(r), r.URL.Query().Get("user")
	days := chosen.days(time.Now())
	if user == allPeople {
		out, err := s.o.Usage.Overall(r.Context(), gate.Principal(r.Context()), usage.OverallInput{Range: days})
		return out, chosen, err
	}
	out, err := s.o.Usage.Summary(r.Context(), gate.Principal(r.Context()), usage.SummaryInput{UserID: chat.UserID(user), Range: days})
	return out, chosen, err
}

func (s *Site) usagePage(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	sums, chosen, err := s.used(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	page := view.UsagePage{Page: s.page("Usage"), Note: s.serverNote(ctx, p), Range: chosen.name, Sum: sums.Sum, Unit: "day",
		Columns: usageColumns(sums, chosen), Lead: usageLead(sums, chosen, p), Export: usageAddress("/usage/export", chosen.name, r)}
	if chosen.months {
		page.Unit = "month"
	}
	for _, u := range usageRanges {
		page.Ranges = append(page.Ranges, view.RangeLink{Label: u.label, Href: usageAddress("/usage", u.name, r), Here: u == chosen})
	}
	for _, m := range sums.Models {
		page.Models = append(page.Models, view.UsageRow{Name: m.Model, Sum: m.Sum})
	}
	for _, k := range sums.Kinds {
		page.Kinds = append(page.Kinds, view.UsageRow{Name: kindWord(k.Kind), Sum: k.Sum})
	}
	if err := s.usageRows(r, sums, &page); err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.document(w, r, http.StatusOK, view.UsageDocument(page))
}

// usageRows fills in what depends on who looks: chats for oneself, people and limits for admins.
func (s *Site) usageRows(r *http.Request, sums usage.Summary, page *view.UsagePage) error {
	ctx, p := r.Context(), gate.Principal(r.Context())
	if sums.UserID != "" {
		stands, err := s.o.Usage.Standing(ctx, p, usage.StandingInput{UserID: sums.UserID})
		if err != nil {
			return err
		}
		if stands.Standing != nil {
			page.Allowance = &view.Allowance{Period: stands.Limit.Period, Standing: *stands.Standing}
		}
	}
	if sums.UserID == p.UserID {
		page.RowsTitle = "chat"
		for i, c := range sums.Chats {
			if i == shownRows {
				page.MoreRows = len(sums.Chats) - shownRows + sums.ChatsLeftOut
				break
			}
			row := view.UsageRow{Name: c.Title, Href: "/chats/" + string(c.RootID), Sum: c.Sum}
			if c.Gone {
				row.Name, row.Href = "A deleted chat", ""
			}
			page.Rows = append(page.Rows, row)
		}
	}
	if !p.Admin() {
		return nil
	}
	people, err := s.account.ListUsers(ctx, p, account.ListUsersInput{})
	if err != nil {
		return err
	}
	limits, err := s.o.Usage.Limits(ctx, p, usage.LimitsInput{})
	if err != nil {
		return err
	}
	form := limitsForm(limits, people.Users)
	page.Limits = &form
	if len(people.Users) < 2 {
		return nil
	}
	page.People = append(page.People, view.Option{Label: "Me"})
	for _, u := range people.Users {
		if u.ID != p.UserID {
			page.People = append(page.People, view.Option{Value: string(u.ID), Label: u.Name, Selected: u.ID == sums.UserID})
		}
	}
	page.People = append(page.People, view.Option{Value: allPeople, Label: "All people", Selected: sums.UserID == ""})
	if sums.UserID != "" {
		return nil
	}
	return s.peopleRows(r, sums, page)
}

// peopleRows lists those who used something.
func (s *Site) peopleRows(r *http.Request, sums usage.Summary, page *view.UsagePage) error {
	out, err := s.o.Usage.Users(r.Context(), gate.Principal(r.Context()), usage.UsersInput{Range: sums.Range})
	if err != nil {
		return err
	}
	page.RowsTitle = "person"
	for _, u := range usage.Largest(out.Users) {
		if u.Sum.Requests == 0 {
			continue
		}
		if len(page.Rows) == shownRows {
			page.MoreRows++
			continue
		}
		row := view.UsageRow{Name: u.Name, Href: "/usage?" + url.Values{"range": {page.Range}, "user": {string(u.UserID)}}.Encode(), Sum: u.Sum}
		if u.Name == "" {
			row.Name = "Somebody who is gone"
		}
		page.Rows = append(page.Rows, row)
	}
	return nil
}

func usageAddress(path, days string, r *http.Request) string {
	v := url.Values{"range": {days}}
	if user := r.URL.Query().Get("user"); user != "" {
		v.Set("user", user)
	}
	return path + "?" + v.Encode()
}

func usageLead(sums usage.Summary, chosen usageRange, p chat.Principal) string {
	whose := "all people"
	switch sums.UserID {
	case p.UserID:
		whose = "your own chats"
	case "":
	default:
		whose = sums.Name
	}
	return chosen.lead + " in UTC, " + whose + ". Counted here, kept here."
}

// usageColumns are the days or months of the range, those without usage included.
func usageColumns(sums usage.Summary, chosen usageRange) []view.UsageColumn {
	var out []view.UsageColumn
	next := 0
	for day := sums.Range.First; day <= sums.Range.Last; day++ {
		at := day.Time()
		switch {
		case !chosen.months:
			out = append(out, view.UsageColumn{Label: strconv.Itoa(at.Day()), Full: at.Format("2 January")})
		case len(out) == 0 || at.Day() == 1:
			out = append(out, view.UsageColumn{Label: at.Format("Jan"), Full: at.Format("January 2006")})
		}
		if next == len(sums.Days) || sums.Days[next].Day != day {
			continue
		}
		c := &out[len(out)-1]
		for _, l := range sums.Days[next].Lines {
			c.Sum = c.Sum.Plus(l.UsageSum)
			c.Tokens[seriesOf(l.Kind)] += l.Tokens()
		}
		next++
	}
	return out
}

// seriesOf is the place of a kind of call in the plots.
func seriesOf(kind string) int {
	switch kind {
	case chat.UsageTurn:
		return 0
	case chat.UsageAdvisor:
		return 1
	}
	return 2
}

func kindWord(kind string) string {
	switch kind {
	case chat.UsageTurn:
		return "Turns"
	case chat.UsageAdvisor:
		return "Advisor"
	case chat.UsageCompaction:
		return "Compaction"
	case chat.UsageClassifier:
		return "Classifier"
	case chat.UsageTitle:
		return "Titles"
	case chat.UsageSummary:
		return "Summaries"
	}
	return kind
}

// exportUsage gives the sums as CSV, a line for each day, model and kind of call.
func (s *Site) exportUsage(w http.ResponseWriter, r *http.Request) {
	sums, _, err := s.used(r)
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	lines := [][]string{{"day", "model", "kind", "calls", "calls_without_price", "input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens",
		"cost_micros", "runtime_ms"}}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, d := range sums.Days {
		for _, l := range d.Lines {
			cost := ""
			if c := l.Cost(); c != nil {
				cost = number(*c)
			}
			lines = append(lines, []string{d.Day.String(), cell(l.Model), l.Kind, number(l.Requests), number(l.Unpriced), number(l.InputTokens),
				number(l.OutputTokens), number(l.ReasoningTokens), number(l.CacheReadTokens), cost, number(l.RuntimeMS)})
		}
	}
	if err := out.WriteAll(lines); err != nil {
		gate.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="usage-`+sums.Range.First.String()+`-`+sums.Range.Last.String()+`.csv"`)
	if _, err := w.Write(b.Bytes()); err != nil && r.Context().Err() == nil {
		s.log.DebugContext(r.Context(), "an export was not written whole", chat.LogError, err)
	}
}

// cell keeps a spreadsheet from taking a name for a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t", rune(text[0])) {
		return "'" + text
	}
	return text
}

// limitsForm lists everybody, the roles and the people.
func limitsForm(all chat.UsageLimits, people []account.Person) view.LimitsForm {
	form := view.LimitsForm{Rows: []view.LimitRow{limitRow("default", "Everybody", "", *all.Default, true)}}
	for _, role := range []chat.UserRole{chat.UserAdmin, chat.UserMember} {
		l, own := all.Roles[role]
		form.Rows = append(form.Rows, limitRow("role "+string(role), "All "+string(role)+"s", "as everybody", l, own))
	}
	for i, u := range people {
		l, own := all.Users[u.ID]
		if i < limitedPeople || own {
			form.Rows = append(form.Rows, limitRow("user "+string(u.ID), u.Name, "as the role", l, own))
		}
	}
	return form
}

func limitRow(who, name, base string, l chat.UsageLimit, own bool) view.LimitRow {
	row := view.LimitRow{Who: who, Name: name, Base: base}
	if !own {
		return row
	}
	row.Period = l.Period
	if l.Micros != chat.NoLimit {
		row.Cost = view.Money(l.Micros)
	}
	if l.Tokens != chat.NoLimit {
		row.Tokens = view.Digits(l.Tokens)
	}
	return row
}

// setLimits takes the form of the limits.
func (s *Site) setLimits(w http.ResponseWriter, r *http.Request) {
	ctx, p := r.Context(), gate.Principal(r.Context())
	if err := r.ParseForm(); err != nil {
		gate.WriteError(w, r, chat.Invalid("form", "It cannot be read."))
		return
	}
	limits, err := takenLimits(r.PostForm)
	if err == nil {
		limits, err = s.o.Usage.SetLimits(ctx, p, usage.SetLimitsInput{UsageLimits: limits})
	}
	if err != nil {
		s.doneOr(w, r, err, func(e error) templ.Component { return view.FormError("limits-error", sentence(e)) })
		return
	}
	people, err := s.account.ListUsers(ctx, p, account.ListUsersInput{})
	if err != nil {
		gate.WriteError(w, r, err)
		return
	}
	s.fragment(w, r, templ.Join(view.LimitsSection(limitsForm(limits, people.Users)), view.Toasts(view.Toast("limits-saved", "ok", "The limits are saved and count from now on.", ""))))
}

// takenLimits reads the rows of the form; those without a period are left to what counts instead.
func takenLimits(form url.Values) (chat.UsageLimits, error) {
	all := chat.UsageLimits{Roles: map[chat.UserRole]chat.UsageLimit{}, Users: map[chat.UserID]chat.UsageLimit{}}
	periods, costs, tokens := form["period"], form["cost"], form["tokens"]
	if n := len(form["who"]); n == 0 || len(periods) != n || len(costs) != n || len(tokens) != n {
		return all, chat.Invalid("form", "The form is not whole; load the page anew.")
	}
	for i, who := range form["who"] {
		l := chat.UsageLimit{Period: periods[i]}
		var costOK, tokensOK bool
		l.Micros, costOK = view.ParseMoney(costs[i])
		l.Tokens, tokensOK = view.ParseTokens(tokens[i])
		kind, id, _ := strings.Cut(who, " ")
		switch {
		case !costOK:
			return all, chat.Invalid("cost", "“"+costs[i]+"” is no amount; write it as 12.50, or nothing for no limit.")
		case !tokensOK:
			return all, chat.Invalid("tokens", "“"+tokens[i]+"” is no number of tokens; write it as 2000000, or nothing for no limit.")
		case l.Period == "" && l.Micros+l.Tokens > 2*chat.NoLimit:
			return all, chat.Invalid("period", "Choose a period for each limit.")
		case l.Period == "":
		case kind == "default":
			all.Default = &l
		case kind == "role":
			all.Roles[chat.UserRole(id)] = l
		case kind == "user":
			all.Users[chat.UserID(id)] = l
		}
	}
	return all, nil
}
