package quick

import (
	"context"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// Texts that a Chat's own model is asked behind its last message.
const (
	titleAsk = `This is a request by the appliance, not by the person. Name this conversation: a title of 2 to 8 words that says what it is about, in the language of the person.
Answer with the title alone, in one line: no quotation marks, no full stop, no explanation. Call no tool.`
	summaryAsk = `This is a request by the appliance, not by the person. Write the line below this conversation's title in a list: one sentence of at most 100 characters that says what came out at last, what was done, found or asked in your last message above, in its language.
Answer with the sentence alone, in one line: plain text, no Markdown, no quotation marks. Call no tool.`
)

// AskBytes is the most that ClassifyOwn, TitleOwn and SummaryOwn add to a request, AskTokens the most that they let the model answer.
const (
	AskBytes  = max(len(statusAsk), len(titleAsk), len(summaryAsk))
	AskTokens = max(statusTokens, titleTokens, summaryTokens)
)

// askOwn appends a question to the request that the Chat's next Step would send, so that what the server has cached of it serves again, and
// still serves the next Step. It has no format, which would hold up servers that cannot be cut off in one.
func askOwn(ctx context.Context, model chat.Model, req *chat.Request, text string, tokens int, within time.Duration) (string, chat.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	asked := *req
	asked.Class, asked.MaxTokens, asked.Think, asked.Format = chat.ClassQuick, tokens, "false", nil
	asked.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], chat.PromptMessage{Role: chat.RoleUser, Content: text})
	return collect(ctx, model, &asked)
}

// ClassifyOwn lets the Chat's own model judge its last message: req is the request that its next Step would send. The first word of the
// answer counts.
func ClassifyOwn(ctx context.Context, model chat.Model, req *chat.Request) (Status, chat.Reply, error) {
	answer, reply, err := askOwn(ctx, model, req, statusAsk, statusTokens, StatusTime)
	if err != nil {
		return "", reply, err
	}
	return firstWord(answer), reply, nil
}

// TitleOwn lets the Chat's own model name the Chat, as ClassifyOwn asks it.
func TitleOwn(ctx context.Context, model chat.Model, req *chat.Request) (string, chat.Usage, error) {
	answer, reply, err := askOwn(ctx, model, req, titleAsk, titleTokens, titleTime)
	if err != nil {
		return "", chat.Usage{}, err
	}
	if shaped(answer) {
		title, err := readTitle(answer)
		return title, reply.Usage, err
	}
	title, err := checkTitle(onlyLine(answer))
	return title, reply.Usage, err
}

// SummaryOwn lets the Chat's own model write the sentence about its Turn, as ClassifyOwn asks it.
func SummaryOwn(ctx context.Context, model chat.Model, req *chat.Request) (string, chat.Reply, error) {
	answer, reply, err := askOwn(ctx, model, req, summaryAsk, summaryTokens, summaryTime)
	if err != nil {
		return "", reply, err
	}
	if shaped(answer) {
		line, err := readSummary(answer)
		return line, reply, err
	}
	line, err := checkSummary(onlyLine(answer))
	return line, reply, err
}

// shaped says whether an answer without a format has the one of those with.
func shaped(answer string) bool {
	s := strings.TrimSpace(answer)
	return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "```")
}

// onlyLine is the answer when it is one line; what has more is an explanation, or another reply to the person.
func onlyLine(answer string) string {
	s := strings.TrimSpace(answer)
	if strings.ContainsAny(s, "\n\r") {
		return ""
	}
	return s
}
