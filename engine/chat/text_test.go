package chat_test

import (
	"strings"
	"testing"

	"holdfast/engine/chat"
)

// TestFixedTexts compares byte by byte what a model is told (engine.md 2).
func TestFixedTexts(t *testing.T) {
	for key, c := range map[string]struct{ got, want string }{
		"cut":       {chat.TextCut, "the call was interrupted before it produced a result"},
		"lost":      {chat.TextLost, "the call was interrupted and has no result"},
		"stopped":   {chat.TextStopped, "the appliance stopped before this call finished; it may have run in part"},
		"user-stop": {chat.TextUserStop, "interrupted by user"},
		"late":      {chat.TextLate, "the client did not answer this call in time"},
		"go-on":     {chat.TextGoOn, "Your previous reply was cut off. Continue where it stopped and do not repeat it."},
		"empty":     {chat.TextEmpty, "Your last reply was empty. Answer in text or call a tool."},
		"ws-yes": {chat.TextWorkspace,
			"A workspace is attached to this chat. You can use workspace tools such as execute, read_file and write_file."},
		"ws-no": {chat.TextNoWorkspace,
			"No workspace is attached to this chat. Attach or create one before you use workspace tools such as execute, read_file or write_file."},
		"unknown":  {chat.TextUnknown("x", []string{"a", "b"}), `unknown tool "x". Available tools: a, b.`},
		"inactive": {chat.TextInactive("x", []string{"a", "b"}), `tool "x" is not available in this turn. Available tools: a, b.`},
		"badargs":  {chat.TextBadArgs("x", "no path", `{"type":"object"}`), `invalid arguments for "x": no path. Expected: {"type":"object"}`},
		"swallowed": {chat.TextSwallowed([]string{"a", "b"}),
			"Your last tool call could not be read. Call one of these tools with plain JSON arguments: a, b."},
		"loop": {chat.TextLoop(3),
			"You made the same call 3 times and got the same result. Do something different, or say what blocks you."},
		"panic": {chat.TextPanic("no luck"), "tool panicked: no luck"},
		"exclusive": {chat.TextExclusive("advisor"), "advisor must be called by itself before action tools; no call of this batch was run. " +
			"Call advisor alone, then act on its result."},
		"skipped": {chat.TextSkipped("advisor"), "this tool was skipped because advisor must run alone; no call of this batch was run. " +
			"Call advisor by itself first, or repeat this call without it."},
		"gap":          {chat.TextGap(7, "/tmp/x"), "[... 7 bytes left out; the whole is in /tmp/x ...]"},
		"gap, nowhere": {chat.TextGap(7, ""), "[... 7 bytes left out ...]"},
		"no-file":      {chat.TextNoFile("x.png"), "[missing attachment: x.png; ask for it again if it is needed]"},
	} {
		if c.got != c.want {
			t.Errorf("text:%s is\n%s\nwant\n%s", key, c.got, c.want)
		}
	}
}

func TestFixedTextsAreBounded(t *testing.T) {
	names := strings.Split(strings.Repeat("tool ", 60), " ")[:60]
	if n := strings.Count(chat.TextUnknown("x", names), "tool,"); n != 49 {
		t.Errorf("%d commas in a list of 50 names", n)
	}
	schema := strings.Repeat("é", 2000)
	if got := chat.TextBadArgs("x", "y", schema); len(got) > 2100 || !strings.HasSuffix(got, "é") {
		t.Errorf("a schema of 4000 bytes gives %d bytes", len(got))
	}
}
