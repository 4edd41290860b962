package fs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// refused turns an error of the Workspace's files into the answer for the model.
func refused(ctx context.Context, err error) chat.Result {
	if ctx.Err() != nil {
		return answer.Failure("%s", chat.TextCut)
	}
	var fe *chat.FileError
	if errors.As(err, &fe) {
		return answer.Failure("%s", fe.Message)
	}
	return answer.Failure("The workspace did not answer: %v. Try again.", err)
}

// parse reads prepared arguments. They have been checked against the schema, so a failure is a fault of the schema itself.
func parse(args json.RawMessage, into any) error {
	if err := json.Unmarshal(args, into); err != nil {
		return fmt.Errorf("the arguments do not fit this tool: %w", err)
	}
	return nil
}

// output is how a Result of plain lines looks to a model.
type output struct {
	Output string `json:"output"`
}

// fitLines gives the lines, and extra below them, as one text that takes at most maxText bytes as an output. Lines that do not fit
// are left out at the end, with note(how many) in their place; shown says how many are there.
func fitLines(lines []string, extra string, maxText int, note func(left int) string) (text string, shown int) {
	below := func(lines []string, more ...string) string {
		all := append(append([]string(nil), lines...), more...)
		if extra != "" {
			all = append(all, extra)
		}
		return strings.Join(all, "\n")
	}
	room := maxText - len(`{"output":""}`)
	if whole := below(lines); answer.Len(whole) <= room {
		return whole, len(lines)
	}
	used := answer.Len(below(nil, note(len(lines))))
	for _, line := range lines {
		used += answer.Len(line + "\n")
		if used > room {
			break
		}
		shown++
	}
	return below(lines[:shown], note(len(lines)-shown)), shown
}
