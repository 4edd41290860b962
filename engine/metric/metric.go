package metric

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Counter counts what only grows.
type Counter struct {
	vec   *prometheus.CounterVec
	bound *bound
}

// Inc adds one. There must be as many values as the counter has labels.
func (c *Counter) Inc(values ...string) { c.Add(1, values...) }

// Add adds n, which must not be negative.
func (c *Counter) Add(n float64, values ...string) {
	c.vec.WithLabelValues(c.bound.values(values)...).Add(n)
}

// Gauge shows what rises and falls.
type Gauge struct {
	vec   *prometheus.GaugeVec
	bound *bound
}

// Set shows v.
func (g *Gauge) Set(v float64, values ...string) {
	g.vec.WithLabelValues(g.bound.values(values)...).Set(v)
}

// Add changes the gauge by n.
func (g *Gauge) Add(n float64, values ...string) {
	g.vec.WithLabelValues(g.bound.values(values)...).Add(n)
}

// Histogram counts how often values fall below its bounds.
type Histogram struct {
	vec   *prometheus.HistogramVec
	bound *bound
}

// Observe counts v, in the unit of the histogram's name.
func (h *Histogram) Observe(v float64, values ...string) {
	h.vec.WithLabelValues(h.bound.values(values)...).Observe(v)
}

// Seconds counts a duration.
func (h *Histogram) Seconds(d time.Duration, values ...string) { h.Observe(d.Seconds(), values...) }
