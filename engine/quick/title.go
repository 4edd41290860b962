package quick

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"holdfast/engine/chat"
)

// Bounds of a title (engine.md 1 and 13).
const (
	titleRunes   = 80
	titleMin     = 2
	titleMax     = 8
	titleTokens  = 256
	titleTime    = 30 * time.Second
	titleInput   = 6000
	fallbackMost = 6
)

// titleSchema is a literal, as the order of its keys decides what the model may write.
const titleSchema = `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`

const titleSystem = `You name conversations. Read the beginning of one and answer with a title of 2 to 8 words that says what it is about, in the language of the person. No quotation marks, no full stop, no explanation. Answer with one JSON object: {"title": "..."}`

// ErrTitle is wrapped by the error for an answer that is no title.
var ErrTitle = errors.New("the answer is not a title")

// Title asks model for a title, within 30 s. base gives the model's name and options, so that the server need not load it anew; its
// messages are not sent. firstUser is the first user Message, lastTurns the text of the last Turns, "" for none. The usage is
// what the call cost, also when its answer was refused.
func Title(ctx context.Context, model chat.Model, base *chat.Request, firstUser, lastTurns string) (string, chat.Usage, error) {
	answer, reply, err := ask(ctx, model, base, question{system: titleSystem, text: titleQuestion(firstUser, lastTurns), schema: titleSchema,
		tokens: titleTokens, within: titleTime})
	if err != nil {
		return "", chat.Usage{}, err
	}
	title, err := readTitle(answer)
	return title, reply.Usage, err
}

// titleQuestion shares the runes: half for the first Message when the last Turns need the other half.
func titleQuestion(firstUser, lastTurns string) string {
	firstUser, lastTurns = printable(firstUser), printable(lastTurns)
	if lastTurns == "" {
		return "The person wrote:\n\n" + firstRunes(firstUser, titleInput)
	}
	last := lastRunes(lastTurns, titleInput-min(len([]rune(firstUser)), titleInput/2))
	first := firstRunes(firstUser, titleInput-len([]rune(last)))
	return "The person wrote first:\n\n" + first + "\n\nThe conversation now:\n\n" + last
}

func readTitle(answer string) (string, error) {
	var out struct {
		Title *string `json:"title"`
	}
	answer = strings.TrimSpace(answer)
	if err := json.Unmarshal([]byte(unfenced(answer)), &out); err != nil {
		return "", fmt.Errorf("%w: %w", ErrTitle, err)
	}
	if out.Title == nil {
		return "", fmt.Errorf("%w: no title in it", ErrTitle)
	}
	return checkTitle(*out.Title)
}

// checkTitle takes quotes and the full stop off and counts.
func checkTitle(s string) (string, error) {
	title := strings.Join(strings.Fields(marks.Replace(printable(s))), " ")
	title = strings.TrimSpace(strings.Trim(title, "\"'`“”„‘’«»‹›「」"))
	title = strings.TrimRight(title, ".")
	if n := words(title); n < titleMin || n > titleMax {
		return "", fmt.Errorf("%w: %d words", ErrTitle, n)
	}
	if n := len([]rune(title)); n > titleRunes {
		return "", fmt.Errorf("%w: %d characters", ErrTitle, n)
	}
	return title, nil
}

// runesAWord is how many characters make a word, about, where a script has no spaces between words.
const runesAWord = 3

// words counts the words of a title.
func words(title string) int {
	n := 0
	for _, field := range strings.Fields(title) {
		dense := 0
		for _, r := range field {
			if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
				dense++
			}
		}
		n += max(1, (dense+runesAWord-1)/runesAWord)
	}
	return n
}

// unfenced takes a Markdown fence off, which models without a grammar put around JSON.
func unfenced(s string) string {
	inner, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s
	}
	inner = strings.TrimPrefix(inner, "json")
	return strings.TrimSpace(strings.TrimSuffix(inner, "```"))
}

// FallbackTitle is the title until there is a better one: the first 6 words, at most 80 runes, with an ellipsis if that cuts the
// text; "New chat" without words.
func FallbackTitle(text string) string {
	words := strings.Fields(printable(text))
	if len(words) == 0 {
		return "New chat"
	}
	title := strings.Join(words[:min(len(words), fallbackMost)], " ")
	if len(words) <= fallbackMost && len([]rune(title)) <= titleRunes {
		return title
	}
	return strings.TrimRightFunc(firstRunes(title, titleRunes-1), unicode.IsSpace) + "…"
}

// printable drops what a title or a question for one cannot hold: control and format characters, bytes that are no text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u200C', r == '\u200D':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

func firstRunes(s string, n int) string {
	r := []rune(s)
	return string(r[:min(len(r), max(n, 0))])
}

func lastRunes(s string, n int) string {
	r := []rune(s)
	return string(r[max(0, len(r)-max(n, 0)):])
}
