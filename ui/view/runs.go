package view

import "holdfast/ui/text"

// RunsPage lists a chat's model calls, the newest first. More is the address of the next page, "" for none.
type RunsPage struct {
	Page   Page
	Nav    Nav
	ChatID string
	Title  string
	Runs   []RunRow
	More   string
	// Off: calls are not kept now. Admin may change that. Left says what is missing, "" for nothing.
	Off   bool
	Admin bool
	Left  string
}

// RunRow is one model call. Tone is ok, warn or danger.
type RunRow struct {
	Href    string
	When    string
	Purpose string
	Model   string
	// In and Out are tokens, "" where the server did not count.
	In    string
	Out   string
	First string
	Took  string
	State string
	Icon  string
	Tone  string
}

// RunPage is one model call.
type RunPage struct {
	Page   Page
	Nav    Nav
	ChatID string
	Title  string
	Run    RunRow
	// URL is where the request went. Problem is why there is no whole answer.
	URL      string
	Problem  string
	Facts    []RunFact
	Attempts []RunAttempt
	Parts    []RunPart
	// Reused says how much of the request the server had read before.
	Reused    string
	Reasoning string
	Answer    string
	Calls     []RunCall
	// Request is the body in lines for reading; Size and Exact are of the bytes that were sent.
	Request []text.SourceLine
	Size    string
	Exact   string
}

// RunFact is a number with its name.
type RunFact struct{ Name, Value, Unit string }

// RunAttempt is one that failed.
type RunAttempt struct{ When, Message, Next string }

// RunPart is a message of the request, or its tools. Share is in percent.
type RunPart struct {
	Kind, Begins, Tokens, Size string
	Share                      int
}

// RunCall is a Call as the model made it.
type RunCall struct {
	Name string
	Args []text.SourceLine
}
