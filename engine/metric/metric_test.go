package metric

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func scrape(t *testing.T, r *Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("scrape: status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func wants(t *testing.T, body string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains(body, l+"\n") {
			t.Errorf("no line %q in:\n%s", l, only(body, "holdfast_"))
		}
	}
}

func only(body, prefix string) string {
	var out []string
	for l := range strings.Lines(body) {
		if strings.HasPrefix(l, prefix) {
			out = append(out, l)
		}
	}
	return strings.Join(out, "")
}

func TestMetricsAreScraped(t *testing.T) {
	r := New()
	r.Counter("holdfast_a_total", "a").Inc()
	r.Counter("holdfast_a_total", "a").Add(2)
	g := r.Gauge("holdfast_b", "b", OneOf("state", "on", "off"))
	g.Set(7, "on")
	g.Add(-2, "on")
	r.Histogram("holdfast_c_seconds", "c", []float64{0.5, 2}, OneOf("kind", "x")).Seconds(time.Second, "x")
	r.Read("holdfast_d", "d", func() float64 { return 42 })
	r.ReadTotal("holdfast_e_total", "e", func() float64 { return 43 })
	r.ReadBy("holdfast_f", "f", OneOf("state", "on", "off"), func() map[string]float64 { return map[string]float64{"on": 2, "odd": 1, "strange": 3} })
	wants(t, scrape(t, r),
		"holdfast_a_total 3",
		`holdfast_b{state="on"} 5`,
		`holdfast_c_seconds_bucket{kind="x",le="0.5"} 0`,
		`holdfast_c_seconds_bucket{kind="x",le="2"} 1`,
		`holdfast_c_seconds_sum{kind="x"} 1`,
		"holdfast_d 42",
		"holdfast_e_total 43",
		`holdfast_f{state="on"} 2`,
		`holdfast_f{state="off"} 0`,
		`holdfast_f{state="other"} 4`,
	)
}

func TestLabelsAreBounded(t *testing.T) {
	r := New()
	closed := r.Counter("holdfast_closed_total", "", OneOf("result", "ok", "failed"))
	capped := r.Counter("holdfast_capped_total", "", Capped("model", 2))
	for _, v := range []string{"ok", "failed", "strange", "stranger"} {
		closed.Inc(v)
	}
	for i := range 60 {
		capped.Inc(fmt.Sprint("m", i))
	}
	capped.Inc("m1")
	body := scrape(t, r)
	wants(t, body,
		`holdfast_closed_total{result="ok"} 1`, `holdfast_closed_total{result="other"} 2`,
		`holdfast_capped_total{model="m0"} 1`, `holdfast_capped_total{model="m1"} 2`, `holdfast_capped_total{model="other"} 58`)
	if n := strings.Count(only(body, "holdfast_capped_total"), "\n"); n != 3 {
		t.Errorf("%d series of a label capped at 2, want 3", n)
	}
}

func TestSeriesBudgetHoldsAndLosesNoCount(t *testing.T) {
	r := New()
	var all []*Histogram
	for i := range 10 {
		all = append(all, r.Histogram(fmt.Sprintf("holdfast_h%d_seconds", i), "", []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10}, Capped("a", 1000), Capped("b", 1000)))
	}
	var wg sync.WaitGroup
	for i, h := range all {
		wg.Go(func() {
			for n := range 300 {
				h.Observe(1, fmt.Sprint(i, n), fmt.Sprint(n))
			}
		})
	}
	wg.Wait()
	body := only(scrape(t, r), "holdfast_")
	if n := strings.Count(body, "\n"); n > MaxSeries {
		t.Errorf("%d series, at most %d are allowed", n, MaxSeries)
	}
	var total int
	for l := range strings.Lines(body) {
		if i := strings.LastIndex(l, "} "); i > 0 && strings.Contains(l, "_count{") {
			var n int
			if _, err := fmt.Sscan(l[i+2:], &n); err != nil {
				t.Fatal(err)
			}
			total += n
		}
	}
	if total != 3000 {
		t.Errorf("counts add up to %d, want 3000", total)
	}
}

func TestTwoShapesOfOneNamePanic(t *testing.T) {
	for name, ask := range map[string]func(*Registry){
		"kind":    func(r *Registry) { r.Gauge("holdfast_x", "", OneOf("k", "a")) },
		"labels":  func(r *Registry) { r.Counter("holdfast_x", "", OneOf("k", "a", "b")) },
		"number":  func(r *Registry) { r.Counter("holdfast_x", "", OneOf("k", "a")).Inc() },
		"too big": func(r *Registry) { r.Counter("holdfast_x", "", OneOf("k", "a")).Inc("a", "b") },
	} {
		t.Run(name, func(t *testing.T) {
			r := New()
			r.Counter("holdfast_x", "", OneOf("k", "a"))
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			ask(r)
		})
	}
}
