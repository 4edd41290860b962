package prompt

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// SummaryTool is the name of the card that shows a compaction.
const SummaryTool = chat.SummaryTool

// Sources of a compaction.
const (
	SourceAutomatic = "automatic"
	SourceManual    = "manual"
)

// maxSummary caps the tokens of a summary; reasoning of the model counts in.
const maxSummary = 4096

const summaryPreface = "The earlier part of this conversation was summarised to save room. This is the summary; go on from it."

const summaryAsk = `The conversation is about to be shortened: everything before this message will be replaced by the summary that you write now. Do not call a tool and do not go on with the task. Write only the summary, in plain text, so that you can go on with nothing else at hand:
1. Goal: what the person asked for, with the constraints and decisions they gave, in their words where it matters.
2. Done: what was changed or found out, with the paths of all files that matter and names of functions, commands and errors as they are.
3. State: what works, what fails, and the output that shows it, in short.
4. Open tasks: what is left to do, in order, beginning with the very next step.
Leave out what is no longer needed. Do not invent anything.`

// leftOut stands where the oldest messages were left out of a summary request.
const leftOut = "[The earliest part of this conversation does not fit any more and is left out here. Say in the summary that it is missing.]"

// SummaryRequest is the same request plus one user message that asks for the summary, so that the server reuses its cache. When
// the prompt is too long for that, what is long in its messages is shortened, the newest first; then, as after a change to a model with a smaller window,
// the oldest messages are left out. ok is false when not even the newest message fits.
// withoutTools is for the second try, after a reply without text.
func SummaryRequest(built Built, withoutTools bool) (req *chat.Request, ok bool) {
	return summaryRequest(built, built.Request.Options.NumCtx, withoutTools)
}

// SummaryRequestOf is SummaryRequest for another model than the Chat's own, whose window is own. The prompt fits the stricter of both windows. ok is
// also false when something would be left out only because the other model's is the stricter one.
func SummaryRequestOf(other Built, own int, withoutTools bool) (req *chat.Request, ok bool) {
	window := other.Request.Options.NumCtx
	if window < own && tooMuchAsked(other, window) > 0 {
		return nil, false
	}
	req, ok = summaryRequest(other, min(window, own), withoutTools)
	req.Beside, req.Optional = true, true
	return req, ok
}

func summaryRequest(built Built, window int, withoutTools bool) (req *chat.Request, ok bool) {
	copied := *built.Request
	req = &copied
	req.MaxTokens = maxSummaryIn(window)
	req.Messages = make([]chat.PromptMessage, len(built.Request.Messages), len(built.Request.Messages)+1)
	copy(req.Messages, built.Request.Messages)
	over := shorten(req.Messages, tooMuchAsked(built, window))
	if over > 0 {
		req.Messages, over = leaveOut(req.Messages, over)
	}
	req.Messages = append(req.Messages, summaryQuestion())
	if withoutTools {
		req.Tools, req.Format = nil, nil
	}
	return req, over <= 0
}

func summaryQuestion() chat.PromptMessage {
	return chat.PromptMessage{Role: chat.RoleUser, Content: summaryAsk}
}

// maxSummaryIn is how many tokens a summary may have in a window.
func maxSummaryIn(window int) int { return max(1, min(maxSummary, window/4, MaxOutput)) }

// tooMuchAsked is by how many bytes a prompt with the question is too long for a window that has the summary too.
func tooMuchAsked(built Built, window int) int64 {
	ask := summaryQuestion()
	return tooMuch(built, MessageBytes(&ask), int64(window-maxSummaryIn(window)))
}

// keptOfResult is how much of a shortened message stays in a summary request, in bytes.
const keptOfResult = 1 << 10

// tooMuch is by how many bytes a prompt with more added to it is too long for room tokens, at the rate at which the server counted it.
func tooMuch(built Built, more, room int64) int64 {
	// What was counted may hold thoughts that are not sent again, and no text has more tokens than bytes.
	tokens := min(built.Tokens, built.Bytes)
	if tokens <= 0 {
		return 0
	}
	return (tokens + more/bytesPerToken + 1 - room) * built.Bytes / tokens
}

// shorten cuts contents, thoughts and arguments from the end of msgs until over bytes are gone and gives what is left of over.
func shorten(msgs []chat.PromptMessage, over int64) int64 {
	for i := len(msgs) - 1; i >= 0 && over > 0; i-- {
		m := &msgs[i]
		over -= shortenText(&m.Content) + shortenText(&m.Reasoning)
		for k, c := range m.Calls {
			args := string(c.Args)
			if shortenText(&args) == 0 {
				continue
			}
			c.Args = json.RawMessage(`{"shortened": ` + quoted(args) + `}`)
			if less := len(m.Calls[k].Args) - len(c.Args); less > 0 {
				// The messages of the prompt itself stay as they are.
				m.Calls = slices.Clone(m.Calls)
				m.Calls[k] = c
				over -= int64(less)
			}
		}
	}
	return over
}

// shortenText cuts a long text and says by how many bytes it is shorter now.
func shortenText(text *string) int64 {
	cut, was, full := CutResult(*text, keptOfResult, "")
	if !was || int64(len(cut)) >= full {
		return 0
	}
	*text = cut
	return full - int64(len(cut))
}

// leaveOut drops messages from the begin of msgs, whole Steps at a time, until over bytes are gone, and says so in their place. It gives
// what is left of over.
func leaveOut(msgs []chat.PromptMessage, over int64) ([]chat.PromptMessage, int64) {
	note := chat.PromptMessage{Role: chat.RoleUser, Content: leftOut}
	over += MessageBytes(&note)
	from := 0
	for from < len(msgs)-1 && (over > 0 || msgs[from].Role == chat.RoleTool) {
		over -= MessageBytes(&msgs[from])
		from++
	}
	return append([]chat.PromptMessage{note}, msgs[from:]...), over
}

// Summary is a finished or failed compaction.
type Summary struct {
	ChatID chat.ID
	// CallID names the card, as its Draft did.
	CallID string
	// Text is the model's summary; Failure says why there is none.
	Text    string
	Failure string
	// Model is the server's name of the model that wrote it, and Note why that was not the one that the site chose; both are "" where it chose none.
	Model string
	Note  string
	// Source is SourceAutomatic or SourceManual.
	Source    string
	Threshold int
	Used      chat.ContextUse
	// Unanswered user Messages are sent verbatim after the summary (Built.Unanswered).
	Unanswered []chat.MessageID
	At         time.Time
}

// SummaryMessages gives the Messages to store: the summary for the model, which is a boundary, then the card's Call and its
// Result for the person. A failed compaction, and one without text, has the card only.
func SummaryMessages(s Summary) []*chat.Message {
	s.Text = strings.TrimSpace(s.Text)
	if s.Text == "" && s.Failure == "" {
		s.Failure = "The model wrote no summary."
	}
	card := []*chat.Message{s.call(), s.result()}
	if s.Failure != "" {
		return card
	}
	return append([]*chat.Message{s.boundary()}, card...)
}

// SummaryBoundary is the summary for the model, of a compaction whose card is there already.
func SummaryBoundary(text string, unanswered []chat.MessageID, at time.Time) *chat.Message {
	return Summary{Text: strings.TrimSpace(text), Unanswered: unanswered, At: at}.boundary()
}

func (s Summary) boundary() *chat.Message {
	m := s.message(chat.RoleUser, chat.Part{Type: chat.PartText, Text: summaryPreface + "\n\n" + s.Text})
	m.Visibility, m.Boundary, m.Unanswered = chat.VisibleModel, chat.BoundarySummary, s.Unanswered
	return m
}

func (s Summary) call() *chat.Message {
	args := encode(struct {
		Source    string `json:"source"`
		Threshold int    `json:"threshold_percent"`
	}{s.Source, s.Threshold})
	m := s.message(chat.RoleAssistant, chat.Part{Type: chat.PartToolCall, CallID: s.CallID, ToolName: SummaryTool, Args: args})
	m.Visibility = chat.VisibleUser
	return m
}

func (s Summary) result() *chat.Message {
	part := chat.Part{Type: chat.PartToolResult, CallID: s.CallID, ToolName: SummaryTool, CreatedAt: &s.At, CompletedAt: &s.At}
	if s.Failure != "" {
		part.IsError, part.Result = true, json.RawMessage(errorJSON(s.Failure))
	} else {
		part.Result = encode(struct {
			Summary   string `json:"summary"`
			Source    string `json:"source"`
			Threshold int    `json:"threshold_percent"`
			Usage     int64  `json:"usage_percent"`
			Tokens    int64  `json:"context_tokens"`
			Limit     int64  `json:"context_limit_tokens"`
			Model     string `json:"model,omitempty"`
			Note      string `json:"note,omitempty"`
		}{s.Text, s.Source, s.Threshold, percent(s.Used), s.Used.Tokens, s.Used.Limit, s.Model, s.Note})
	}
	m := s.message(chat.RoleTool, part)
	m.Visibility = chat.VisibleUser
	return m
}

func (s Summary) message(role chat.Role, part chat.Part) *chat.Message {
	return &chat.Message{ChatID: s.ChatID, CreatedAt: s.At, Role: role, Content: []chat.Part{part}, Compressed: true,
		ContentVersion: 1}
}

func percent(u chat.ContextUse) int64 {
	if u.Limit <= 0 {
		return 0
	}
	return u.Tokens * 100 / u.Limit
}

// encode is for values of this file, which always have a JSON form.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("prompt: " + err.Error())
	}
	return raw
}
