// Package archtest keeps the rules of the house as tests, each with its reason.
//
// A rule looks at the parsed source of the whole module (tree) and gives its findings; TestHouse runs every rule over the module,
// TestRulesFind runs every rule over a small source that breaks it, so that no rule can fall asleep. `go test -v` prints how much of
// the budgets is used. Rules see syntax, not types: what they cannot see, a reader still has to.
package archtest
