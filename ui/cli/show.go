package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// show prints a Chat: answers on stdout as they come, Tools and notes on stderr.
type show struct {
	out, err printer
	// texts are the text Parts of the present reply as far as they are printed, calls and results the Calls that were named.
	texts          []string
	generation     int64
	calls, results map[string]bool
	// unlimited asks whether the site sets no limit to how often a Turn may ask the advisor; nil is no.
	unlimited func() bool
}

func newShow(std IO) *show {
	return &show{out: printer{w: std.Out, colours: IsTerminal(std.Out)}, err: printer{w: std.Err, colours: IsTerminal(std.Err)},
		calls: map[string]bool{}, results: map[string]bool{}}
}

// frame prints what is new in a frame that held has taken.
func (s *show) frame(f client.Frame, held *client.Transcript) error {
	for _, e := range f.Events {
		var err error
		switch e := e.(type) {
		case *client.MessageEvent:
			err = s.message(&e.Message)
		case *client.RetryEvent:
			err = s.note("attempt " + number(e.Attempt) + " failed (" + e.Message + "); another follows")
		}
		if err != nil {
			return err
		}
	}
	if len(held.Parts) == 0 {
		return nil
	}
	if held.Generation != s.generation {
		if err := s.void(); err != nil {
			return err
		}
		s.generation = held.Generation
	}
	return s.parts(held.Parts, false)
}

// void drops a reply that was begun and will not be kept.
func (s *show) void() error {
	if len(s.texts) == 0 {
		return nil
	}
	s.texts = nil
	if err := s.out.line(); err != nil {
		return err
	}
	return s.note("what was printed last is void; the model begins again")
}

// message prints what is not yet printed of a committed Message.
func (s *show) message(m *client.Message) error {
	switch m.Role {
	case chat.RoleTool:
		return s.parts(m.Content, true)
	case chat.RoleAssistant:
	default:
		return nil
	}
	if err := s.parts(m.Content, true); err != nil {
		return err
	}
	s.texts = nil
	return s.out.line()
}

// parts prints the new text of each text Part and names Calls and Results once.
func (s *show) parts(all []client.Part, committed bool) error {
	text := 0
	for i := range all {
		p := &all[i]
		var err error
		switch p.Type {
		case chat.PartText:
			err = s.text(text, p.Text)
			text++
		case chat.PartToolCall:
			err = s.call(p)
		case chat.PartToolResult:
			if committed || p.Result != nil {
				err = s.result(p)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// text prints the end of a text Part of which the begin was printed.
func (s *show) text(i int, whole string) error {
	if i == len(s.texts) {
		s.texts = append(s.texts, "")
		// Between two texts stood a Call or a thought.
		if err := s.out.line(); err != nil {
			return err
		}
	}
	news, ok := strings.CutPrefix(whole, s.texts[i])
	if !ok {
		// The reply was made anew in a way that the stream did not announce: it is printed whole.
		if err := s.out.line(); err != nil {
			return err
		}
		news = whole
	}
	s.texts[i] = whole
	return s.out.print(news)
}

func (s *show) call(p *client.Part) error {
	if s.calls[p.CallID] {
		return nil
	}
	s.calls[p.CallID] = true
	return s.note("→ " + callLine(p.ToolName, p.Args))
}

func (s *show) result(p *client.Part) error {
	if s.results[p.CallID] {
		return nil
	}
	s.results[p.CallID] = true
	if p.IsError {
		return s.note("← " + p.ToolName + " failed: " + shorten(failureOf(p.Result)))
	}
	if p.ToolName == chat.AdvisorTool {
		return s.notes(s.advised(p.Result))
	}
	return s.note("← " + p.ToolName + " done")
}

// advised is what the advisor said, whole: whoever reads along sees why the model goes on as it does.
func (s *show) advised(result json.RawMessage) string {
	var a chat.AdvisorResult
	if json.Unmarshal(result, &a) != nil {
		return "← advisor done"
	}
	switch a.Type {
	case chat.AdviceGiven:
		left := strconv.Itoa(a.RemainingUses) + " uses left"
		switch {
		case s.unlimited != nil && s.unlimited():
			left = "no limit"
		case a.RemainingUses == 1:
			left = "1 use left"
		}
		return "← advisor " + a.AdvisorModel + ", " + left + ":\n" + a.Advice
	case chat.AdviceLimit:
		return "← advisor not asked: the limit of this turn is reached"
	}
	return "← advisor gave no advice, the use was given back: " + shorten(a.Error)
}

// notes prints a text on stderr, the lines behind its first one indented.
func (s *show) notes(text string) error {
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			line = "  " + line
		}
		if err := s.note(revealed(line)); err != nil {
			return err
		}
	}
	return nil
}

// note prints one line on stderr.
func (s *show) note(text string) error {
	if err := s.out.lineOnTerminal(&s.err); err != nil {
		return err
	}
	return s.err.print(plain(strings.ReplaceAll(text, "\n", " ")) + "\n")
}

// ask leaves the line open for the answer.
func (s *show) ask(text string) error { return s.lines(text + "\nallow it? [y/n] ") }

// lines prints a text whose last line is left open for an answer.
func (s *show) lines(text string) error {
	if err := s.out.lineOnTerminal(&s.err); err != nil {
		return err
	}
	all := strings.Split(text, "\n")
	for _, line := range all[:len(all)-1] {
		if err := s.note(revealed(line)); err != nil {
			return err
		}
	}
	err := s.err.print(plain(all[len(all)-1]))
	// The person's own newline ends the line.
	s.err.column = 0
	return err
}

// end leaves the terminal at the beginning of a line.
func (s *show) end() error { return s.out.line() }

// lineOnTerminal ends a line of p where both go to the same terminal, so that they do not run into each other.
func (p *printer) lineOnTerminal(other *printer) error {
	if !p.colours || !other.colours {
		return nil
	}
	return p.line()
}

// callLine is a Call in one short line.
func callLine(tool string, args json.RawMessage) string {
	var command struct {
		Command string `json:"command"`
		Path    string `json:"path"`
		Title   string `json:"title"`
		Prompt  string `json:"prompt"`
		// Question is the advisor's.
		Question string `json:"question"`
	}
	shown := string(args)
	// Arguments of another shape are shown as they are.
	if err := json.Unmarshal(args, &command); err == nil {
		if command.Command != "" {
			shown = command.Command
		} else if command.Path != "" {
			shown = command.Path
		} else if tool == chat.AdvisorTool && command.Question != "" {
			shown = command.Question
		} else if tool == "spawn_agent" {
			shown = command.Title
			if shown == "" {
				shown = command.Prompt
			}
		}
	}
	return plain(tool + " " + shorten(shown))
}

// wholeCall is a Call as a person must see it before allowing it: nothing is cut, each field on a line of its own.
func wholeCall(tool string, args json.RawMessage) string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(args, &fields); err != nil {
		return tool + " " + string(args)
	}
	var b strings.Builder
	b.WriteString("the model asks for " + tool + ":")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := string(fields[name])
		var text string
		if json.Unmarshal(fields[name], &text) == nil {
			value = text
		}
		b.WriteString("\n  " + name + ": " + strings.ReplaceAll(value, "\n", "\n    "))
	}
	return b.String()
}

// failureOf is the text of a failed Result.
func failureOf(result json.RawMessage) string {
	var failed struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(result, &failed); err != nil || failed.Error == "" {
		return string(result)
	}
	return failed.Error
}

// shorten cuts a text to what fits into a line.
func shorten(s string) string {
	const most = 160
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

func number(n int) string { return strconv.Itoa(n) }

// revealed is a text that a person decides about. Nothing of it is left out: a shell runs also what stands behind the begin of an escape
// sequence, and what a terminal would not show as a character stands there as its number.
func revealed(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		number := strconv.QuoteRune(r)
		b.WriteString(number[1 : len(number)-1])
	}
	return b.String()
}
