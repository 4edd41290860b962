package view

// SystemPage is how the appliance itself does.
type SystemPage struct {
	Page Page
	Note ServerNote
	// Problem is what is wrong with store or disk, "" for nothing; Next what to do about it.
	Problem string
	Next    string
	Figures []RunFact
	Path    string
	Version string
	Damages []DamageRow
	RunLog  RunLogForm
}

// DamageRow is a damaged record; Href leads to its chat, "" where none is known.
type DamageRow struct {
	What   string
	Href   string
	Reason string
	Next   string
}

// SecretsForm changes secret.key. Done is how many secrets stand under the new one now, "" before.
type SecretsForm struct{ Done, Problem string }

// RunLogForm turns the run log on and off.
type RunLogForm struct{ On bool }
