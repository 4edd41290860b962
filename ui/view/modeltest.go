package view

// ModelTest is the capability test of a model. Element id: mt-ID.
type ModelTest struct {
	ID    string
	Admin bool
	// Running, with what is asked just now and how far it is in percent.
	Running bool
	Status  string
	Percent int
	// Failed is why the last test came to no result, FailedAt when; "" for neither.
	Failed   string
	FailedAt string
	// Done is when the result below was found and how long that took, "" when the model was never tested.
	Done  string
	Facts []Fact
	Rows  []TestRow
	// Found says how tools are called since the model was found to make no calls of its own; "" where it makes them, or nobody knows.
	Found string
}

// Fact is a word and its value.
type Fact struct{ Name, Value string }

// TestRow is one finding: State is yes, no, failed or skipped.
type TestRow struct {
	Icon   string
	Verb   string
	Text   string
	State  string
	Detail string
}

func testLabel(t ModelTest) string {
	if t.Done == "" && t.Failed == "" {
		return "Test this model"
	}
	return "Test again"
}

// LoadedModel is a model in the server's memory.
type LoadedModel struct {
	Name string
	// Facts are its size, window and how long it stays. Spills says how much of it the graphics card does not hold, "" when all is there.
	Facts  string
	Spills string
}

// FieldGroup is a part of a form; one without a title is always open.
type FieldGroup struct {
	Title  string
	Fields []Field
}

// Field is a field of a form: a line of text, several where Lines says so, a choice where Options are, or a box to tick.
type Field struct {
	ID      string
	Name    string
	Label   string
	Hint    string
	Value   string
	Options []Option
	Box     bool
	Checked bool
	Number  bool
	Short   bool
	Lines   int
	Error   string
}

// bad says whether a group has a field with an error, and so must be open.
func (g FieldGroup) bad() bool {
	for _, f := range g.Fields {
		if f.Error != "" {
			return true
		}
	}
	return false
}

// describedBy names what explains a field.
func (f Field) describedBy() string {
	switch {
	case f.Error != "":
		return f.ID + "-error"
	case f.Hint != "":
		return f.ID + "-hint"
	}
	return ""
}
