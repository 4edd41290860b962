package view

// TurnsPage are the settings of how Turns go.
type TurnsPage struct {
	Page      Page
	Note      ServerNote
	Behaviour BehaviourForm
	Planning  PlanningForm
}

// BehaviourForm are the bounds of Turns, as they are typed: times in seconds, folders by line.
type BehaviourForm struct {
	// Fixed: whoever looks may not change it. ByFile: nobody may, since the configuration file sets it.
	Fixed, ByFile                          bool
	Turns, Steps, Deadline, Runtime, Roots string
	Resume                                 bool
	Saved                                  bool
	// Errors are by the name of the field.
	Errors map[string]string
}

// PlanningForm is what models are told in plan mode.
type PlanningForm struct {
	Fixed bool
	// ByFile: the configuration file sets it.
	ByFile bool
	Text   string
	Saved  bool
	Error  string
}
