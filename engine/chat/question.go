package chat

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Question is one thing that a model asks a person; besides the Options a person may always answer in their own words.
type Question struct {
	Header   string           `json:"header,omitempty"`
	Question string           `json:"question"`
	Options  []QuestionOption `json:"options"`
	// Multiple: more than one option may be chosen.
	Multiple bool `json:"multiple,omitempty"`
}

// QuestionOption is one answer to choose.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Bounds of a Call of ask_user_question.
const (
	maxQuestions = 4
	minOptions   = 2
	maxOptions   = 4
)

// Questions reads the arguments of a Call of ask_user_question; the error says what is wrong with them in words for a model.
func Questions(args json.RawMessage) ([]Question, error) {
	var in struct{ Questions []Question }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	if n := len(in.Questions); n < 1 || n > maxQuestions {
		return nil, fmt.Errorf("ask 1 to %d questions at once, not %d", maxQuestions, n)
	}
	for i, q := range in.Questions {
		if strings.TrimSpace(q.Question) == "" {
			return nil, fmt.Errorf("question %d is blank", i+1)
		}
		if n := len(q.Options); n < minOptions || n > maxOptions {
			return nil, fmt.Errorf("question %d has %d options; give %d to %d, the user can always answer in their own words", i+1, n, minOptions, maxOptions)
		}
		seen := map[string]bool{}
		for _, o := range q.Options {
			label := strings.TrimSpace(o.Label)
			if label == "" || seen[label] {
				return nil, fmt.Errorf("question %d has an option without a label of its own", i+1)
			}
			seen[label] = true
		}
	}
	return in.Questions, nil
}

// PlanDetail is the Detail of propose_plan: the plan as it was when it was shown.
type PlanDetail struct {
	Path string `json:"path"`
	Plan string `json:"plan"`
}

// AgentDetail is the Detail of the Tools that act on a Sub-agent.
type AgentDetail struct {
	ChatID ID     `json:"chat_id"`
	Title  string `json:"title"`
	Status State  `json:"status,omitempty"`
	// TimedOut: the wait ended before the Sub-agent did.
	TimedOut bool   `json:"timed_out,omitempty"`
	Report   string `json:"report,omitempty"`
}
