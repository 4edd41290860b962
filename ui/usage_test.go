package ui_test

import (
	"context"
	"encoding/csv"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/chat"
	"holdfast/engine/mcp"
	"holdfast/engine/metric"
	"holdfast/engine/model"
	"holdfast/engine/ollama"
	"holdfast/engine/ollama/scripted"
	"holdfast/engine/outbound"
	"holdfast/engine/usage"
	"holdfast/engine/workspace"
	"holdfast/kv"
	"holdfast/kv/kvtest"
	"holdfast/ui"
	"holdfast/ui/gate"
)

// pages are the real pages behind the real Gate; nothing runs Turns.
type pages struct {
	t       *testing.T
	store   *kv.Store
	url     string
	account *account.Room
	owner   chat.Principal
}

func newPages(t *testing.T) *pages {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	p := &pages{t: t, store: kvtest.Open(t)}
	running := scripted.Memory(scripted.New(scripted.Options{Models: []scripted.Model{{Name: "m:latest"}}}))
	t.Cleanup(func() { must(running.Close()) })
	address, err := ollama.ParseURL(running.URL)
	must(err)
	adapter := ollama.New(ollama.Options{URL: address, Client: running.Client, Log: log, TempDir: t.TempDir(), Memory: func(context.Context) int64 { return 0 }})
	p.account = account.New(p.store, log, nil)
	p.owner, err = p.account.EnsureOwner(t.Context())
	must(err)
	guard := account.NewGuard(account.StoreOwners(p.store), metric.New())
	out, err := outbound.New(t.Context(), outbound.Options{Store: p.store, Metric: metric.New()})
	must(err)
	site, err := ui.New(ui.Options{Outbound: outbound.NewGuarded(out, guard), Chats: engine.NewGuarded(engine.New(engine.Options{Store: p.store, Configs: model.Resolve, Log: log}), guard), Account: account.NewGuarded(p.account, guard),
		Models: model.NewGuarded(model.New(p.store, adapter, nil), guard), Workspaces: workspace.NewGuarded(workspace.New(p.store, nil, nil), guard),
		Usage: usage.NewGuarded(usage.New(p.store, log, nil), guard), MCP: mcp.NewGuarded(mcp.New(mcp.Options{Store: p.store}), guard), Log: log})
	must(err)
	t.Cleanup(site.Close)
	listeners, err := gate.Listen(t.Context(), []string{"127.0.0.1:0"})
	must(err)
	p.url = "http://" + listeners[0].Addr().String()
	g, err := gate.New(gate.Options{Account: p.account, Metrics: metric.New(), Log: log, Addresses: []net.Addr{listeners[0].Addr()}, LoginPage: site.LoginPage,
		ErrorPage: site.ErrorPage, StreamAway: site.StreamAway}, site.Routes()...)
	must(err)
	server := &httptest.Server{Listener: listeners[0], Config: g.Server(context.Background())}
	server.Start()
	t.Cleanup(server.Close)
	return p
}

// person makes somebody and gives their id and token.
func (p *pages) person(name string, role chat.UserRole) (chat.UserID, string) {
	p.t.Helper()
	id := chat.UserID(uuid.Must(uuid.NewV7()).String())
	p.update(func(tx *kv.Tx) error {
		return tx.PutUser(&chat.User{ID: id, Name: name, Role: role, CreatedAt: time.Now().UTC()})
	})
	return id, p.token(id)
}

func (p *pages) token(id chat.UserID) string {
	p.t.Helper()
	out, err := p.account.CreateToken(p.t.Context(), p.owner, account.CreateTokenInput{Name: "test", UserID: id})
	if err != nil {
		p.t.Fatal(err)
	}
	return out.Token
}

func (p *pages) update(fn func(*kv.Tx) error) {
	p.t.Helper()
	if err := p.store.Update(context.Background(), fn); err != nil {
		p.t.Fatal(err)
	}
}

// use stores calls of a chat of somebody's, each of 2,000 tokens.
func (p *pages) use(owner chat.UserID, title, modelName string, calls int, cost *int64) {
	p.t.Helper()
	id := chat.ID(uuid.Must(uuid.NewV7()).String())
	in, out := int64(1900), int64(100)
	p.update(func(tx *kv.Tx) error {
		if err := tx.PutChat(&chat.Chat{ID: id, RootID: id, OwnerID: owner, Title: title, State: chat.Waiting}); err != nil {
			return err
		}
		for range calls {
			if err := tx.PutUsage(&chat.UsageEntry{ChatID: id, RootID: id, UserID: owner, Model: modelName, Kind: chat.UsageTurn, CostMicros: cost, RuntimeMS: 1500,
				Usage: chat.Usage{InputTokens: &in, OutputTokens: &out}, At: time.Now().UTC()}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *pages) ask(token, method, path string, form url.Values) (int, string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "text/html")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func (p *pages) page(token, path string, status int, has, hasNot []string) string {
	p.t.Helper()
	code, body := p.ask(token, "GET", path, nil)
	if code != status {
		p.t.Errorf("%s: status %d, want %d", path, code, status)
	}
	for _, text := range has {
		if !strings.Contains(body, text) {
			p.t.Errorf("%s lacks %q", path, text)
		}
	}
	for _, text := range hasNot {
		if strings.Contains(body, text) {
			p.t.Errorf("%s has %q", path, text)
		}
	}
	return body
}

func TestUsagePage(t *testing.T) {
	p := newPages(t)
	token := p.token(p.owner.UserID)
	mo, moToken := p.person("mo", chat.UserMember)
	cost := int64(1_250_000)
	p.page(token, "/usage", 200, []string{"Nothing was used", "Limits"}, []string{"Tokens by day", "By model"})
	p.use(p.owner.UserID, "Tides", "a:1b", 3, &cost)
	p.use(p.owner.UserID, "Without a price", "b:2b", 1, nil)
	p.use(mo, "Secret", "b:2b", 10, nil)
	p.page(token, "/usage", 200, []string{"Tokens by day", "3.75", "and 1 without a price", "a:1b", "Tides", "Model time by day", "As a table", `href="/usage/export?range=14"`,
		"All people", `aria-current="page"`}, []string{"Secret", "By person"})
	p.page(token, "/usage?range=day", 200, []string{"Tokens by purpose"}, []string{"Tokens by day"})
	p.page(token, "/usage?range=year", 200, []string{"Tokens by month", time.Now().UTC().Format("January 2006")}, nil)
	p.page(token, "/usage?user="+string(mo), 200, []string{"20k", "no price set", ", mo."}, []string{"Secret", "Tides", "By chat"})
	p.page(token, "/usage?user=all", 200, []string{"By person", "all people", "mo"}, []string{"Secret", "Tides"})
	p.page(moToken, "/usage", 200, []string{"Secret", "By chat"}, []string{"Tides", "Save the limits", "All people"})
	p.page(moToken, "/usage?user="+string(p.owner.UserID), 404, nil, []string{"Tides"})
	p.page(moToken, "/usage?user=all", 403, nil, []string{"Tides"})
	p.page(token, "/?start=1", 200, []string{`href="/usage"`}, nil)
}

func TestUsageExport(t *testing.T) {
	p := newPages(t)
	token, cost := p.token(p.owner.UserID), int64(5)
	p.use(p.owner.UserID, "Tides", "=HYPERLINK()", 2, &cost)
	body := p.page(token, "/usage/export?range=day", 200, nil, nil)
	lines, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || len(lines) != 2 {
		t.Fatalf("%q, %v", body, err)
	}
	want := []string{time.Now().UTC().Format(time.DateOnly), "'=HYPERLINK()", "turn", "2", "0", "3800", "200", "0", "0", "10", "3000"}
	if strings.Join(lines[1], "|") != strings.Join(want, "|") {
		t.Errorf("the line is %q, want %q", lines[1], want)
	}
}

func TestUsageLimitsForm(t *testing.T) {
	p := newPages(t)
	token := p.token(p.owner.UserID)
	mo, moToken := p.person("mo", chat.UserMember)
	form := func(cost, tokens, period string) url.Values {
		return url.Values{"who": {"default", "role admin", "role member", "user " + string(mo)}, "period": {"month", "", "day", period}, "cost": {"", "", "0.5", cost},
			"tokens": {"2,000,000", "", "", tokens}}
	}
	for name, x := range map[string]struct {
		form url.Values
		says string
	}{
		"an amount": {form("much", "", "week"), "is no amount"},
		"a number":  {form("", "-5", "week"), "is no number of tokens"},
		"a period":  {form("", "5", ""), "Choose a period"},
		"a year":    {form("", "5", "year"), "must be day, week, month"},
		"a cut":     {url.Values{"who": {"default"}, "period": {}}, "not whole"},
	} {
		code, body := p.ask(token, "POST", "/usage/limits", x.form)
		if code != 200 || !strings.Contains(body, `id="limits-error"`) || !strings.Contains(body, x.says) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	if code, body := p.ask(moToken, "POST", "/usage/limits", form("", "", "")); strings.Contains(body, "limits-saved") || code == 204 {
		t.Errorf("a member set limits: %d", code)
	}
	code, body := p.ask(token, "POST", "/usage/limits", form("2.50", "", "week"))
	if code != 200 || !strings.Contains(body, `id="limits"`) || !strings.Contains(body, "limits-saved") || !strings.Contains(body, `value="2.50"`) ||
		!strings.Contains(body, `value="2,000,000"`) {
		t.Fatalf("saving: %d %s", code, body)
	}
	var got chat.UsageLimits
	if err := p.store.View(t.Context(), func(tx *kv.Tx) error { _, err := tx.Site(usage.LimitsKey, &got); return err }); err != nil {
		t.Fatal(err)
	}
	want := chat.UsageLimit{Period: chat.PeriodWeek, Micros: 2_500_000, Tokens: chat.NoLimit}
	if *got.Default != (chat.UsageLimit{Period: chat.PeriodMonth, Micros: chat.NoLimit, Tokens: 2_000_000}) || got.Users[mo] != want || len(got.Roles) != 1 ||
		got.Roles[chat.UserMember].Micros != 500_000 {
		t.Errorf("the limits are %+v", got)
	}
	cost := int64(2_500_000)
	p.page(moToken, "/usage", 200, []string{"This week’s limit", "0.00 of 2.50"}, []string{"The limit is reached"})
	p.use(mo, "A chat", "a:1b", 1, &cost)
	p.page(moToken, "/usage", 200, []string{"The limit is reached", "2.50 of 2.50"}, nil)
}
