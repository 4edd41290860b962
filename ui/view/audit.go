package view

// AuditPage is who did what.
type AuditPage struct {
	Page   Page
	Note   ServerNote
	Groups []Option
	People []Option
	Rows   []AuditRow
	// More leads to older ones, "" without any; Filtered: not everything is asked for.
	More     string
	Filtered bool
	Check    AuditCheck
}

// AuditRow is one record. Element id: au-N.
type AuditRow struct {
	N      string
	When   string
	ISO    string
	Who    string
	From   string
	What   string
	About  string
	Failed bool
	Facts  []RunFact
	Hash   string
}

// AuditCheck is what following the chain found; the zero value has not looked.
type AuditCheck struct {
	Looked      bool
	First, Last string
	Head        string
	Broken      []string
	// Number and Hash are the noted head that it was held against, Problem what was wrong with them.
	Number, Hash string
	Problem      string
}
