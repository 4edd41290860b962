// Package metric wraps Prometheus for all rooms: counters, gauges and histograms by name, with bounded labels, in a Registry that
// is a value. There is no global registry.
//
// Caveats: asking twice for one name with the same shape gives the same metric; with another shape it panics, because only a
// broken program does that. A label has a closed set of values (OneOf) or takes the first so many that come (Capped); everything
// else is counted as "other". When the Registry's budget of series is spent, new label values are "other" too. Never hand in an
// id, a path, a host or an error text.
package metric
