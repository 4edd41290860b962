package advisor

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
)

// coldLoad is the shortest time of loading that a person is told of: that of a model in memory says nothing.
const coldLoad = 200 * time.Millisecond

// maxQuestion is how long a question may be, in runes.
const maxQuestion = 2000

// Tool is the advisor as a model calls it.
type Tool struct {
	runtime *Runtime
	// off says why there is no runtime.
	off string
}

var _ chat.Tool = (*Tool)(nil)

// NewTool gives the Tool over a Turn's Runtime. Without one it answers every Call with the reason.
func NewTool(r *Runtime, err error) *Tool {
	if err != nil {
		return &Tool{off: err.Error()}
	}
	return &Tool{runtime: r}
}

// Def describes the Tool.
func (t *Tool) Def() chat.ToolDef {
	return chat.ToolDef{Name: chat.AdvisorTool, Effect: chat.ClassRead,
		Description: "Ask a stronger advisor for strategy before a hard or risky step. Call it alone.",
		Schema: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string","description":"One concrete question, ` +
			`at most 2000 characters."}},"required":["question"]}`)}
}

// Run consults the advisor. The advice streams into the Call's output.
func (t *Tool) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	var in struct {
		Question string `json:"question"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return flagged(chat.TextQuestionMissing)
	}
	question := strings.TrimSpace(in.Question)
	switch {
	case question == "":
		return flagged(chat.TextQuestionMissing)
	case utf8.RuneCountInString(question) > maxQuestion:
		return flagged(chat.TextQuestionLong)
	case t.runtime == nil:
		return flagged(chat.TextAdvisorOff(t.off))
	}
	out, load, err := t.runtime.consult(ctx, question, env.Output, env.Restart)
	if err != nil {
		return flagged(chat.TextCut)
	}
	content, full := encoded(out, env.MaxText)
	res := chat.Result{Content: content, FullBytes: full}
	if load < coldLoad {
		load = 0
	}
	if detail := (chat.AdvisorDetail{LoadMS: load.Milliseconds(), Uses: t.runtime.o.Config.MaxUsesPerRun}); detail != (chat.AdvisorDetail{}) {
		res.Detail = marshal(detail)
	}
	return res
}

func flagged(text string) chat.Result { return chat.Result{Content: text, IsError: true} }

// encoded gives the Result's JSON within limit bytes: advice that is too long is cut in its middle, so that the JSON stays whole. full is
// its size before that, 0 when nothing was cut.
func encoded(out chat.AdvisorResult, limit int) (content string, full int64) {
	advice := out.Advice
	whole := string(marshal(out))
	for room, now := limit, whole; ; {
		if len(now) <= limit || room <= 0 {
			if len(now) != len(whole) {
				full = int64(len(whole))
			}
			return now, full
		}
		room = min(room, len(advice))
		// A share, as escapes make the JSON longer than the text.
		room -= max(1, room*(len(now)-limit)/len(now))
		out.Advice, _, _ = prompt.CutResult(advice, max(room, 0), "")
		now = string(marshal(out))
	}
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("advisor: " + err.Error()) // strings and numbers always have a JSON form
	}
	return b
}
