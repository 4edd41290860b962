package prompt

import (
	"bytes"
	"encoding/json"
	"strings"

	"holdfast/engine/chat"
)

// Loops: after loopNudge equal cycles in a row the model is told so, after loopEnd the Turn ends. A cycle has 1 to loopCycle Calls.
const (
	loopNudge = 3
	loopEnd   = 5
	loopCycle = 3
)

// Loop is what the Turn's Calls and Results so far say.
type Loop struct {
	// Count is how often the last cycle was made in a row.
	Count int
	// Nudge is text:loop when it has to be appended now, else "".
	Nudge string
	// End: the Turn ends with KindLoop.
	End bool
}

// made is a Call with its Result, in comparable form.
type made struct{ name, args, result string }

// FindLoop looks at the end of a Turn's Messages (those after its user Message, ascending) for a repeated cycle of Calls with
// equal name, arguments and Results. Times, process ids and such that differ by nature do not count. waits names the Tools that
// are exempt.
func FindLoop(turn []*chat.Message, waits map[string]bool) Loop {
	calls, nudgedAt := madeCalls(turn, waits)
	count, first := repeats(calls)
	loop := Loop{Count: count, End: count >= loopEnd}
	if count >= loopNudge && !loop.End && nudgedAt <= first {
		loop.Nudge = chat.TextLoop(count)
	}
	return loop
}

// madeCalls lists the answered Calls in order; nudgedAt is how many there were when text:loop was last appended.
func madeCalls(turn []*chat.Message, waits map[string]bool) (calls []made, nudgedAt int) {
	open := map[string]int{}
	for _, m := range turn {
		if m.Deleted || m.Visibility == chat.VisibleUser {
			continue
		}
		if m.Role == chat.RoleUser && isLoopText(chat.PlainText(m.Content)) {
			nudgedAt = len(calls)
			continue
		}
		for i := range m.Content {
			p := &m.Content[i]
			if waits[p.ToolName] || p.ProviderExecuted {
				continue
			}
			switch p.Type {
			case chat.PartToolCall:
				open[p.CallID] = len(calls)
				calls = append(calls, made{name: p.ToolName, args: canonical(p.Args, false)})
			case chat.PartToolResult:
				if at, ok := open[p.CallID]; ok {
					calls[at].result = canonical(p.Result, true)
					delete(open, p.CallID)
				}
			}
		}
	}
	return calls, nudgedAt
}

func isLoopText(s string) bool {
	begin, end, _ := strings.Cut(chat.TextLoop(loopNudge), "3")
	return strings.HasPrefix(s, begin) && strings.HasSuffix(s, end)
}

// repeats gives how often the cycle at the end of calls was made in a row, and the index where its second round begins: a nudge
// from before that was about something else.
func repeats(calls []made) (count, second int) {
	for size := 1; size <= loopCycle && size <= len(calls); size++ {
		n := 1
		for (n+1)*size <= len(calls) && equalCycle(calls, size, n) {
			n++
		}
		if n > count {
			count, second = n, len(calls)-(n-1)*size
		}
	}
	return count, second
}

// equalCycle compares the last cycle with the one n rounds before it.
func equalCycle(calls []made, size, n int) bool {
	last := calls[len(calls)-size:]
	before := calls[len(calls)-(n+1)*size:]
	for i := range last {
		if last[i] != before[i] {
			return false
		}
	}
	return true
}

// canonical gives JSON with sorted keys, so that equal values compare equal; what is not JSON stands for itself.
func canonical(raw json.RawMessage, result bool) string {
	var value any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&value) != nil {
		return string(raw)
	}
	if object, ok := value.(map[string]any); ok && result {
		for key := range object {
			if strings.HasSuffix(key, "_ms") || strings.HasSuffix(key, "process_id") {
				delete(object, key)
			}
		}
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		return string(raw)
	}
	return string(sorted)
}
