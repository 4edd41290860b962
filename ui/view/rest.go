package view

import (
	"strings"

	"holdfast/engine/chat"
	"holdfast/ui/text"
)

type action struct {
	Label, Post, Href string
}

// calmKind: nothing is broken; a person can choose.
func calmKind(k chat.Kind) bool {
	switch k {
	case chat.KindContextFull, chat.KindLoop, chat.KindBusy, chat.KindUsageLimit, chat.KindEmptyReply, chat.KindActionTimeout:
		return true
	}
	return false
}

// nextStep says what to do about an error, for the kinds of engine.md 10.
func nextStep(k chat.Kind) string {
	switch k {
	case chat.KindContextFull:
		return "Compact the chat. If that does not help, clear its context, edit the message that led to it, or choose a model with a larger window."
	case chat.KindNoTools:
		return "Choose another model below, then retry."
	case chat.KindModelMissing:
		return "Pull or import it on the Models page, or choose another one below."
	case chat.KindOutOfMemory:
		return "Choose a smaller model below, or a smaller window on the Models page."
	case chat.KindModelLoading:
		return "Large models take long from a slow disk. Retry; what is loaded by now is kept."
	case chat.KindBusy:
		return "Other programs use it. Retry when they are done."
	case chat.KindUnreachable:
		return "The text so far is kept. Start it with “ollama serve”, then retry."
	case chat.KindSlowStart:
		return "The machine may be busy, or the prompt long. Retry, or choose a smaller model."
	case chat.KindSilent, chat.KindStreamCut:
		return "The text so far is kept. Retry goes on from there."
	case chat.KindAuth:
		return "Look at the address of the model server on the Models page."
	case chat.KindConfig:
		return "Look at the options of this model on the Models page."
	case chat.KindServer:
		return "Its log says why. The text so far is kept; retry, or choose another model."
	case chat.KindUsageLimit:
		return "Nothing is lost; send again then."
	case chat.KindLoop:
		return "Say in a message what to try instead, or retry."
	case chat.KindEmptyReply:
		return "Ask again in other words, or choose another model."
	case chat.KindActionTimeout:
		return "The message it waited for can be sent again."
	}
	return "The text so far is kept. Retry; the log says more under this number."
}

func failureActions(chatID string, f Failure) []action {
	retry := action{Label: "Retry", Post: "/chats/" + chatID + "/retry"}
	models := action{Label: "Open Models", Href: "/models"}
	switch f.Kind {
	case chat.KindContextFull:
		return []action{{Label: "Compact", Post: "/chats/" + chatID + "/compact"}, retry}
	case chat.KindModelMissing, chat.KindOutOfMemory, chat.KindNoTools, chat.KindConfig, chat.KindAuth:
		return []action{models, retry}
	case chat.KindUsageLimit:
		return nil
	}
	return []action{retry}
}

func failureID(f Failure) string {
	if f.ID == "" {
		return string(f.Kind)
	}
	return string(f.Kind) + " · " + f.ID
}

// restWords says why a chat rests, for the reasons of engine.md 3.1; action is the label of the button, "" for none.
func restWords(r Rest) (title, body, action string) {
	waits := ""
	if r.Queued > 0 {
		waits = " " + Count(r.Queued, "message") + " in the queue."
	}
	switch r.Reason {
	case "interrupted":
		if r.WithParent {
			return "Stopped with its parent", "The chat that started this sub-agent was interrupted. What was written so far is kept." + waits, "Continue"
		}
		return "You interrupted this turn", "What was written so far is kept." + waits, "Continue"
	case "may_have_run":
		return "Holdfast stopped while a command ran", "It may have run or not, so it was not repeated. Look at what it changed, then go on." + waits, "Continue"
	case "cut_twice":
		return "This step was cut twice by a restart", "It was not tried a third time by itself." + waits, "Continue"
	case "step_cap":
		return "Stopped after the largest number of steps", "The model was still at work. Look at what it did so far." + waits, "Continue"
	case "length":
		return "The answer reached its length limit", "The text is cut at the end." + waits, "Continue"
	case "archived":
		return "Archived", "You can read it and copy from it." + waits, "Bring back"
	}
	return "The chat rests", "Reason: " + r.Reason + "." + waits, "Continue"
}

// damagedWords say what happened, and what to do where no copy can be made.
func damagedWords(d Damaged) string {
	words := "What can be read is shown, and nothing is added any more. What was found: " + text.Plain(d.Reason) + "."
	if d.Fork > 0 {
		return words + " A fork goes on from the last message before the damage."
	}
	return words + " There is no message before it to go on from: restore the newest backup, or read what is left with “holdfast export --salvage”."
}

func markPrefix(m Mark) string {
	if m.Gap {
		return "g-"
	}
	return "x-"
}

func workspaceTitle(c Chat) string {
	if c.Untrusted {
		return c.Workspace + ": not trusted, each command asks first"
	}
	return c.Workspace + ": trusted, commands run without asking"
}

// warned says of a Turn what it has to do without. What is kept of that was said when it began.
func (r Rest) warned(said string) (title, words string) {
	if !r.Over {
		return "This turn began without all of its context", said
	}
	return "The last turn began without all of its context", strings.ReplaceAll(said, "This turn goes on without", "It went on without")
}
