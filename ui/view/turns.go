package view

// TurnsPage are the settings of how Turns go.
type TurnsPage struct {
	Page     Page
	Note     ServerNote
	Deadline DeadlineForm
	Planning PlanningForm
}

// DeadlineForm is how long programs may take to answer the calls of their chats, in seconds.
type DeadlineForm struct {
	// Fixed: whoever looks may not change it.
	Fixed   bool
	Seconds string
	Saved   bool
	Error   string
}

// PlanningForm is what models are told in plan mode.
type PlanningForm struct {
	Fixed bool
	Text  string
	Saved bool
	Error string
}
