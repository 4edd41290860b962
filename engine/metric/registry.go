package metric

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// MaxSeries is how many series all metrics of a Registry may have together, those of the Go runtime and the process beside.
const MaxSeries = 1800

// Registry holds the metrics of one process. Its methods may be called from any goroutine.
type Registry struct {
	reg    *prometheus.Registry
	budget *budget

	mu sync.Mutex
	// made holds the metrics by name; guarded by mu.
	made map[string]made
}

// made is a metric with the shape it was asked for in.
type made struct {
	kind   string
	labels []Label
	metric any
}

// New makes a Registry with the collectors of the Go runtime and the process.
func New() *Registry {
	r := &Registry{reg: prometheus.NewRegistry(), budget: &budget{left: MaxSeries}, made: map[string]made{}}
	r.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Handler serves all metrics as Prometheus text. What cannot be collected goes to log.
func (r *Registry) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(r.reg, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError,
	})
}

// Counter gives the counter of that name.
func (r *Registry) Counter(name, help string, labels ...Label) *Counter {
	return ask(r, name, "counter", labels, func() (*Counter, prometheus.Collector) {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, names(labels))
		return &Counter{vec: v, bound: r.bound(labels, 1)}, v
	})
}

// Gauge gives the gauge of that name.
func (r *Registry) Gauge(name, help string, labels ...Label) *Gauge {
	return ask(r, name, "gauge", labels, func() (*Gauge, prometheus.Collector) {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, names(labels))
		return &Gauge{vec: v, bound: r.bound(labels, 1)}, v
	})
}

// Histogram gives the histogram of that name. Buckets are upper bounds, growing; the unit stands in the name.
func (r *Registry) Histogram(name, help string, buckets []float64, labels ...Label) *Histogram {
	kind := fmt.Sprint("histogram ", buckets)
	return ask(r, name, kind, labels, func() (*Histogram, prometheus.Collector) {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, names(labels))
		// Each bucket is a series; the endless one, the sum and the count come on top.
		return &Histogram{vec: v, bound: r.bound(labels, len(buckets)+3)}, v
	})
}

// Read shows what value gives at each scrape as a gauge. It panics when the name is taken.
func (r *Registry) Read(name, help string, value func() float64) {
	r.budget.take(1)
	r.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// ReadTotal shows what value gives at each scrape as a counter; it must never fall. It panics when the name is taken.
func (r *Registry) ReadTotal(name, help string, value func() float64) {
	r.budget.take(1)
	r.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
}

// ReadBy shows what values gives at each scrape as a gauge with one label; values outside of its set are summed up as Other. It panics when
// the name is taken.
func (r *Registry) ReadBy(name, help string, label Label, values func() map[string]float64) {
	r.budget.take(len(label.closed) + 1)
	r.reg.MustRegister(&reader{desc: prometheus.NewDesc(name, help, []string{label.name}, nil), label: label, values: values})
}

// reader is a gauge with one label that is asked at each scrape.
type reader struct {
	desc   *prometheus.Desc
	label  Label
	values func() map[string]float64
}

// Describe tells Prometheus the one shape of it.
func (r *reader) Describe(out chan<- *prometheus.Desc) { out <- r.desc }

// Collect asks for the values.
func (r *reader) Collect(out chan<- prometheus.Metric) {
	shown := map[string]float64{}
	for _, v := range r.label.closed {
		shown[v] = 0
	}
	for v, n := range r.values() {
		if !slices.Contains(r.label.closed, v) {
			v = Other
		}
		shown[v] += n
	}
	for v, n := range shown {
		out <- prometheus.MustNewConstMetric(r.desc, prometheus.GaugeValue, n, v)
	}
}

// bound reserves what the metric needs once all its labels are Other, so that a spent budget never loses a count.
func (r *Registry) bound(labels []Label, cost int) *bound {
	r.budget.take(cost)
	return newBound(labels, cost, r.budget)
}

func ask[M any](r *Registry, name, kind string, labels []Label, build func() (M, prometheus.Collector)) M {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m, ok := r.made[name]; ok {
		if m.kind != kind || !slices.EqualFunc(m.labels, labels, Label.same) {
			panic("metric: " + name + " is asked for in two shapes")
		}
		return m.metric.(M)
	}
	m, c := build()
	r.reg.MustRegister(c)
	r.made[name] = made{kind: kind, labels: labels, metric: m}
	return m
}

func names(labels []Label) []string {
	var out []string
	for _, l := range labels {
		out = append(out, l.name)
	}
	return out
}
