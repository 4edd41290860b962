package view

// DoctorList is what a look at everything found. Problem is why nobody could look; Sum counts the states.
type DoctorList struct {
	Sum     string
	Problem string
	Rows    []DoctorRow
}

// DoctorRow is one thing that was looked at. State is ok, warning, failed or skipped; Do is "" for nothing to do.
type DoctorRow struct{ Name, State, Found, Do string }
