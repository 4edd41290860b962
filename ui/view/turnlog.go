package view

// TurnLog is what the last Turns of a chat spent their time on, the newest first.
type TurnLog struct {
	ChatID string
	Turns  []LoggedTurn
	// More: there are older ones. Off: nothing is kept now. Left says what is missing, "" for nothing.
	More bool
	Off  bool
	Left string
	// Problem is why it cannot be read.
	Problem string
	// Again: the newest Turn is not whole, so the panel asks again. Asked tells one answer from the next.
	Again bool
	Asked int64
}

// LoggedTurn is one Turn. More is how many of its Spans are not shown.
type LoggedTurn struct {
	ID    string
	When  string
	Took  string
	State string
	Spans []LoggedSpan
	More  int
}

// LoggedSpan is one line: X and Width are where its bar stands, in percent. Kind is request, step, model, call or commit.
type LoggedSpan struct {
	Kind   string
	Name   string
	Detail string
	Href   string
	Took   string
	X      string
	Width  string
	// Inner: it is part of a Step.
	Inner  bool
	Failed bool
}

// tone is the colour of its bar.
func (s LoggedSpan) tone() string {
	switch s.Kind {
	case "call":
		return "p2"
	case "commit":
		return "p3"
	case "step", "request":
		return "p4"
	}
	return "p1"
}
