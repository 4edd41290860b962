// Package advisor lets a Chat's model ask a second model for advice before a hard or risky step.
//
// Eligible says whether a Turn has the advisor at all. Runtime counts the uses of one Turn and makes the nested call: one request without
// Tools, built from a Snapshot of the Step that asks. Tool is what the asking model calls; Guidance tells it when.
//
// Caveats: a Runtime is of one Turn and keeps nothing: what was used before is counted from stored Results and handed in. Advice is data to
// the asking model like any other Result; it changes nothing by itself.
package advisor
