package probe

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

const answerTokens = 512

func (t *test) streaming(ctx context.Context) error {
	h, err := t.ask(ctx, t.request("Write the numbers from one to thirty as words, separated by commas, and nothing else.", answerTokens))
	if err != nil {
		return err
	}
	t.probe.EvalSpeed = perSecond(h.Usage.OutputTokens, h.Eval)
	switch {
	case strings.TrimSpace(h.text+h.reasoning) == "":
		t.found(chat.FindStreaming, chat.FoundFailed, "The model answered with nothing.")
	case h.pieces > 1:
		t.found(chat.FindStreaming, chat.FoundYes, "")
	default:
		t.found(chat.FindStreaming, chat.FoundNo, "The reply came in one piece.")
	}
	return nil
}

// readingTokens is how long the prompt is that the reading speed is measured with, about.
const readingTokens = 2000

func (t *test) reading(ctx context.Context) error {
	text := filler(nonce(), int(min(readingTokens, t.in.Window/2))*3) + "\n\nAnswer with the word yes."
	h, err := t.ask(ctx, t.request(text, leastTokens))
	if err != nil {
		return err
	}
	read := h.Usage.InputTokens
	if read == nil || *read <= 0 {
		return nil
	}
	t.bytesPerToken = float64(len(text)) / float64(*read)
	if cached := h.Usage.CacheReadTokens; cached != nil {
		fresh := *read - *cached
		read = &fresh
	}
	t.probe.PrefillSpeed = perSecond(read, h.Prompt)
	return nil
}

// weather is a Tool that only the test knows. It is never run.
var weather = chat.ToolDef{Name: "look_up_weather", Description: "Gives the weather in a city just now.", Effect: chat.ClassRead,
	Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"]}`)}

// toolRequest is what a Turn would send in that protocol.
func (t *test) toolRequest(text, protocol string) *chat.Request {
	config := t.in.Config
	config.Options.Think = t.quiet()
	built := prompt.Build(prompt.Input{Chat: &chat.Chat{}, Config: config, Window: int(t.in.Window), MaxOutput: answerTokens,
		Tools: []chat.ToolDef{weather}, TextTools: protocol == chat.ToolsText, JSONTools: protocol == chat.ToolsJSON,
		Messages: []*chat.Message{{ID: 1, Role: chat.RoleUser, Content: []chat.Part{{Type: chat.PartText, Text: text}}}}})
	return built.Request
}

const (
	oneCity   = "What is the weather in Paris just now? Look it up with the tool."
	twoCities = "What is the weather in Paris and in Oslo just now? Look both up with the tool, in one reply with two calls."
)

func (t *test) tools(ctx context.Context) error {
	h, err := t.ask(ctx, t.toolRequest(oneCity, chat.ToolsNative))
	if isKind(err, chat.KindNoTools) {
		t.found(chat.FindTools, chat.FoundNo, "The model server says that the model has no tools.")
		return nil
	}
	if err != nil {
		return err
	}
	if why := wrongCalls(h.calls, "Paris"); why != "" {
		if _, calls, _, ok := prompt.Recognise(h.text, []string{weather.Name}); ok && wrongCalls(calls, "Paris") == "" {
			why = "It writes its calls as text; they are read from there."
		}
		t.found(chat.FindTools, chat.FoundNo, why)
		return nil
	}
	t.found(chat.FindTools, chat.FoundYes, "")
	return nil
}

func (t *test) parallel(ctx context.Context) error {
	if t.probe.Found(chat.FindTools).State != chat.FoundYes {
		t.found(chat.FindParallel, chat.FoundSkipped, "It makes no calls natively.")
		return nil
	}
	h, err := t.ask(ctx, t.toolRequest(twoCities, chat.ToolsNative))
	if err != nil {
		return err
	}
	if why := wrongCalls(h.calls, "Paris", "Oslo"); why != "" {
		t.found(chat.FindParallel, chat.FoundNo, why)
		return nil
	}
	t.found(chat.FindParallel, chat.FoundYes, "")
	return nil
}

func (t *test) textTools(ctx context.Context) error {
	h, err := t.ask(ctx, t.toolRequest(oneCity, chat.ToolsText))
	if err != nil {
		return err
	}
	_, calls, _, _ := prompt.Recognise(h.text, []string{weather.Name})
	t.judge(chat.FindTextTools, wrongCalls(calls, "Paris"))
	return nil
}

func (t *test) jsonTools(ctx context.Context) error {
	if t.probe.Found(chat.FindJSON).State != chat.FoundYes {
		t.found(chat.FindJSONTools, chat.FoundSkipped, "Its replies take no shape.")
		return nil
	}
	h, err := t.ask(ctx, t.toolRequest(oneCity, chat.ToolsJSON))
	if err != nil {
		return err
	}
	var u prompt.Unwrapper
	u.Add(h.text)
	_, calls, _ := u.Read([]string{weather.Name})
	t.judge(chat.FindJSONTools, wrongCalls(calls, "Paris"))
	return nil
}

func (t *test) judge(name, why string) {
	state := chat.FoundYes
	if why != "" {
		state = chat.FoundNo
	}
	t.found(name, state, why)
}

// wrongCalls says what is wrong with Calls that should ask for these cities, "" when nothing is.
func wrongCalls(calls []chat.Call, cities ...string) string {
	if len(calls) == 0 {
		return "It made no call."
	}
	for _, c := range calls {
		if c.Name != weather.Name {
			return "It called " + c.Name + ", which does not exist."
		}
	}
	for _, city := range cities {
		asks := func(c chat.Call) bool {
			var args struct {
				City string `json:"city"`
			}
			return json.Unmarshal(c.Args, &args) == nil && strings.Contains(strings.ToLower(args.City), strings.ToLower(city))
		}
		if !slices.ContainsFunc(calls, asks) {
			return "It made no call for " + city + "."
		}
	}
	return ""
}

const (
	shape    = `{"type":"object","properties":{"colour":{"type":"string","enum":["red","green","blue"]},"legs":{"type":"integer"}},"required":["colour","legs"]}`
	shapeAsk = `Which colour has fresh grass, and how many legs has a horse? Answer with one JSON object: {"colour": "red" or "green" or "blue", "legs": number}`
)

func (t *test) structured(ctx context.Context) error {
	req := t.request(shapeAsk, answerTokens)
	req.Format = json.RawMessage(shape)
	h, err := t.ask(ctx, req)
	if err != nil {
		return err
	}
	var got struct {
		Colour string `json:"colour"`
		Legs   *int   `json:"legs"`
	}
	err = json.Unmarshal([]byte(strings.TrimSpace(h.text)), &got)
	switch {
	case err != nil:
		t.found(chat.FindJSON, chat.FoundNo, "The reply is not JSON: "+short(h.text))
	case got.Legs == nil || !slices.Contains([]string{"red", "green", "blue"}, got.Colour):
		t.found(chat.FindJSON, chat.FoundNo, "The reply has not the shape that was asked for: "+short(h.text))
	default:
		t.found(chat.FindJSON, chat.FoundYes, "")
	}
	return nil
}

func (t *test) thinking(ctx context.Context) error {
	if known := t.in.Config.Capabilities; len(known) > 0 && !slices.Contains(known, "thinking") {
		t.found(chat.FindThinking, chat.FoundNo, "")
		return nil
	}
	const ask = "A bat and a ball cost 11 together, the bat 10 more than the ball. What does the ball cost?"
	aloud, silent := t.request(ask, 4*answerTokens), t.request(ask, answerTokens)
	aloud.Think, silent.Think = "true", "false"
	h, err := t.ask(ctx, aloud)
	if err != nil {
		return err
	}
	if h.reasoning == "" {
		t.found(chat.FindThinking, chat.FoundNo, "It was asked to think and did not.")
		return nil
	}
	if h, err = t.ask(ctx, silent); err != nil {
		return err
	}
	if h.reasoning != "" {
		t.found(chat.FindThinking, chat.FoundYes, "It cannot be switched off.")
		return nil
	}
	t.found(chat.FindThinking, chat.FoundYes, "")
	return nil
}

func (t *test) vision(ctx context.Context) error {
	// A server of the OpenAI protocol that does not say so may see all the same.
	if known := t.in.Config.Capabilities; t.in.Config.Provider != chat.ProviderOpenAI && len(known) > 0 && !slices.Contains(known, "vision") {
		t.found(chat.FindVision, chat.FoundNo, "")
		return nil
	}
	req := t.request("Which colour fills this picture? Answer with one word.", 64)
	req.Messages[0].Images = []string{picture()}
	h, err := t.ask(ctx, req)
	if isKind(err, chat.KindConfig) {
		t.found(chat.FindVision, chat.FoundNo, "The model server takes no pictures for it.")
		return nil
	}
	if err != nil {
		return err
	}
	if !strings.Contains(strings.ToLower(h.text), "red") {
		t.found(chat.FindVision, chat.FoundNo, "Asked for the colour of a red picture it said: "+short(h.text))
		return nil
	}
	t.found(chat.FindVision, chat.FoundYes, "")
	return nil
}

// picture is a red square as PNG in base64.
func picture() string {
	m := image.NewRGBA(image.Rect(0, 0, 64, 64))
	draw.Draw(m, m.Bounds(), image.NewUniform(color.RGBA{R: 220, A: 255}), image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err) // a buffer takes everything
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// longestRead is how long reading the prompt of the window question may take by the measured speed.
const longestRead = 3 * time.Minute

// window fills the window to nine tenths with text that begins with a word, and asks for the word. A server that runs the model with less
// than was asked for cuts the begin without a sign, or refuses.
func (t *test) window(ctx context.Context) error {
	if t.bytesPerToken == 0 {
		t.found(chat.FindWindow, chat.FoundSkipped, "The server counts no tokens.")
		return nil
	}
	tokens := t.in.Window / 10 * 9
	whole := true
	if speed := t.probe.PrefillSpeed; speed > 0 {
		if most := int64(speed * longestRead.Seconds()); most < tokens {
			tokens, whole = most, false
		}
	}
	word := nonce()
	ask := "\n\nWhat is the secret word? Answer with the word alone."
	text := "The secret word is " + word + ".\n" + filler(nonce(), int(float64(tokens)*t.bytesPerToken)-len(ask)-64) + ask
	t.show(fmt.Sprintf("window: reading %d tokens", tokens))
	h, err := t.ask(ctx, t.request(text, 64))
	if isKind(err, chat.KindContextFull) {
		t.found(chat.FindWindow, chat.FoundNo, fmt.Sprintf("%d tokens do not fit the %d that were asked for.", tokens, t.in.Window))
		return nil
	}
	if err != nil {
		return err
	}
	read := tokens
	if n := h.Usage.InputTokens; n != nil {
		read = *n
	}
	recalls := strings.Contains(strings.ToLower(h.text), word)
	switch {
	case read < tokens*9/10:
		t.probe.RealWindow = read
		t.found(chat.FindWindow, chat.FoundNo, fmt.Sprintf("The server read %d of %d tokens and said nothing.", read, tokens))
	case !recalls:
		t.probe.RealWindow = read
		t.found(chat.FindWindow, chat.FoundYes, fmt.Sprintf("%d tokens are read, but what stands at their begin is forgotten.", read))
	case !whole:
		t.probe.RealWindow = read
		t.found(chat.FindWindow, chat.FoundYes, fmt.Sprintf("At least %d tokens; more would have taken over %d minutes to read.", read, int(longestRead.Minutes())))
	default:
		t.probe.RealWindow = t.in.Window
		t.found(chat.FindWindow, chat.FoundYes, "")
	}
	return nil
}

// filler is that many bytes of lines that differ from each other and from every other filler.
func filler(salt string, bytes int) string {
	var b strings.Builder
	b.Grow(bytes + 64)
	for i := 1; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "Line %d of %s: the keeper walks along the wall and counts the stones.\n", i, salt)
	}
	return b.String()
}

func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}
