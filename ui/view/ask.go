package view

import (
	"strconv"

	"holdfast/ui/text"
)

// Card is what a Call waits for or ended a Turn with; exactly one field is set. It stands below the ledger of its Step.
type Card struct {
	Question *Questions
	Plan     *Plan
	Client   *ClientCall
}

// Questions are what a model asks. Post is POST /chats/{id}/questions/{call}.
type Questions struct {
	Post string
	List []Question
}

// oneClick: pressing an option is the whole answer.
func (q Questions) oneClick() bool { return len(q.List) == 1 && !q.List[0].Multiple }

// Question is one of them. Header is one or two words, "" for none.
type Question struct {
	Header   string
	Text     string
	Options  []QuestionOption
	Multiple bool
}

// QuestionOption is one answer; Note may be empty.
type QuestionOption struct {
	Label string
	Note  string
}

// Plan is a plan that a person decides about. Post is POST /chats/{id}/plans/{call}.
type Plan struct {
	Post   string
	Path   string
	Blocks []text.Block
}

// ClientCall waits for the program that made the chat. Until is its deadline in Unix milliseconds.
type ClientCall struct {
	Tool      string
	Args      string
	Until     int64
	Interrupt string
}

// Agents are the sub-agents of a chat that are not at rest. Patch target #agents.
type Agents struct {
	List []Agent
}

// Agent is one of them. Element id: ag-ID. Cards are the permission cards that it waits for.
type Agent struct {
	ID    string
	Title string
	// Kind is "only reads", "" for one that may do everything.
	Kind  string
	State ChatState
	// Out says what it does: "running", "waits for you".
	Out   string
	Since int64
	Cards []Approval
}

// Parent leads from a sub-agent to the chat that started it.
type Parent struct {
	ID    string
	Title string
}

func field(name string, i int) string { return name + strconv.Itoa(i) }

func optionType(multiple bool) string {
	if multiple {
		return "checkbox"
	}
	return "radio"
}
