package view

// Attached is a file in the composer, or one that was sent.
type Attached struct {
	ID   string
	Name string
	// URL gives its bytes.
	URL string
	// Size is "412 KB".
	Size string
	// Picture: the page can show it.
	Picture bool
	// Gone: its bytes are no longer kept.
	Gone bool
	// Note says what the model has not of it: "name only". "" for nothing.
	Note string
}

// facts follow the name of a file that was sent.
func (a Attached) facts() string {
	switch {
	case a.Gone:
		return "no longer kept"
	case a.Note != "":
		return a.Size + ", " + a.Note
	}
	return a.Size
}
