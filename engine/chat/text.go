package chat

import (
	"strconv"
	"strings"
)

// Fixed texts that a model sees (engine.md 2). They are byte-exact; tests compare them.
const (
	TextCut         = "the call was interrupted before it produced a result"
	TextLost        = "the call was interrupted and has no result"
	TextStopped     = "the appliance stopped before this call finished; it may have run in part"
	TextUserStop    = "interrupted by user"
	TextLate        = "the client did not answer this call in time"
	TextGoOn        = "Your previous reply was cut off. Continue where it stopped and do not repeat it."
	TextEmpty       = "Your last reply was empty. Answer in text or call a tool."
	TextAnnounced   = "You said what you will do, but made no call. Make the call now. If nothing is left to do, say what came out."
	TextWorkspace   = "A workspace is attached to this chat. You can use workspace tools such as execute, read_file and write_file."
	TextNoDepth     = "a sub-agent cannot start sub-agents"
	TextNoWorkspace = "No workspace is attached to this chat. Attach or create one before you use workspace tools such as execute, " +
		"read_file or write_file."
	TextQuestionMissing = "question is required"
	TextQuestionLong    = "question is too long: at most 2000 characters"
	TextAdvisorLimit    = "The advisor cannot be consulted again in this turn. Continue with your own judgement."
)

// SummaryTool is the name of the card that shows a compaction; no Tool has it.
const SummaryTool = "chat_summarized"

// TextUnknown names the tools when a Call names none of them; at most 50 are listed.
func TextUnknown(name string, available []string) string {
	return "unknown tool \"" + name + "\". Available tools: " + toolList(available) + "."
}

// TextInactive is for a Tool that exists but may not be used in this Turn.
func TextInactive(name string, available []string) string {
	return "tool \"" + name + "\" is not available in this turn. Available tools: " + toolList(available) + "."
}

// TextBadArgs says why arguments were refused; schema is cut to 2000 bytes.
func TextBadArgs(name, reason, schema string) string {
	return "invalid arguments for \"" + name + "\": " + reason + ". Expected: " + cutBytes(schema, 2000)
}

// TextSwallowed answers a reply whose Call the model server could not read.
func TextSwallowed(available []string) string {
	return "Your last tool call could not be read. Call one of these tools with plain JSON arguments: " + toolList(available) + "."
}

// TextLoop answers a repeated Call.
func TextLoop(n int) string {
	return "You made the same call " + strconv.Itoa(n) +
		" times and got the same result. Do something different, or say what blocks you."
}

// TextPanic is the Result of a Tool that panicked.
func TextPanic(reason string) string { return "tool panicked: " + reason }

// TextExclusive refuses an exclusive Tool that was not called by itself.
func TextExclusive(tool string) string {
	return tool + " must be called by itself before action tools; no call of this batch was run. Call " + tool +
		" alone, then act on its result."
}

// TextSkipped refuses the other Calls of such a batch.
func TextSkipped(tool string) string {
	return "this tool was skipped because " + tool + " must run alone; no call of this batch was run. Call " + tool +
		" by itself first, or repeat this call without it."
}

// TextAdvisorOff answers a question that nobody can be asked.
func TextAdvisorOff(reason string) string { return "the advisor is not available: " + reason }

// SkippedFor gives the Tool that a Call was skipped for, from the text of its Result.
func SkippedFor(text string) (tool string, ok bool) {
	tool, ok = strings.CutPrefix(text, "this tool was skipped because ")
	tool, _, _ = strings.Cut(tool, " ")
	return tool, ok && text == TextSkipped(tool)
}

// TextGap marks what a cut left out; path is "" when the whole is kept nowhere.
func TextGap(bytes int64, path string) string {
	if path == "" {
		return "[... " + strconv.FormatInt(bytes, 10) + " bytes left out ...]"
	}
	return "[... " + strconv.FormatInt(bytes, 10) + " bytes left out; the whole is in " + path + " ...]"
}

// In place of an image that a Tool answered with, for a model that has it not.
const (
	TextUnseen  = "[image left out: the model cannot see]"
	TextNoImage = "[image left out: it is no longer kept]"
	TextNoRoom  = "[image left out: newer images take all the room of a request]"
)

// TextNoFile stands for an attachment whose bytes are gone.
func TextNoFile(name string) string {
	return "[missing attachment: " + name + "; ask for it again if it is needed]"
}

func toolList(names []string) string {
	if len(names) > 50 {
		names = names[:50]
	}
	return strings.Join(names, ", ")
}

func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
