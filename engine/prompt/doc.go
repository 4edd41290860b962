// Package prompt turns a Chat's stored Messages into the model request of the next Step, and holds the pure rules around it: what
// fits the window, how Results are cut and encoded, Calls that a model wrote as text, loops, and the texts of a compaction.
//
// Its types are Input and Built (Build), Summary (SummaryMessages), Loop and Contributor. It does no I/O and reads no clock.
//
// Caveats: the same history gives the same bytes, and a longer one begins with them, so that a model server reuses its cache;
// whatever would break that (times, counters, random ids) must not enter. Token counts are estimates at three bytes per token
// until the server has counted.
package prompt
