package quick

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"holdfast/engine/call"
	"holdfast/engine/chat"
	"holdfast/engine/ollama"
	"holdfast/engine/ollama/scripted"
)

// BenchmarkClassify lets a model of a model server judge the labelled texts and prints the confusion matrix:
//
//	HOLDFAST_CLASSIFY=qwen3:0.6b HOLDFAST_OLLAMA=http://127.0.0.1:11434 go test -run '^$' -bench Classify -benchtime 1x ./engine/quick
//
// Without HOLDFAST_CLASSIFY a few rules behind a scripted server judge: what a model must do better. HOLDFAST_CLASSIFY_OWN=1 asks as a Chat's own model is asked: the text as the last message, one word as the answer.
func BenchmarkClassify(b *testing.B) {
	name, url, client := os.Getenv("HOLDFAST_CLASSIFY"), os.Getenv("HOLDFAST_OLLAMA"), &http.Client{}
	if name == "" {
		name = "rules:latest"
		running := scripted.Memory(scripted.New(scripted.Options{Models: []scripted.Model{{Name: name, Answer: byRules}}}))
		b.Cleanup(func() {
			if err := running.Close(); err != nil {
				b.Error(err)
			}
		})
		url, client = running.URL, running.Client
	}
	address, err := ollama.ParseURL(url)
	if err != nil {
		b.Fatal(err)
	}
	model := call.New(ollama.New(ollama.Options{URL: address, Client: client, Slots: 1}), call.Options{Attempts: 1})
	req := &chat.Request{Class: chat.ClassQuick, Provider: chat.ProviderOllama, Model: name, MaxTokens: statusTokens, Options: chat.Options{NumCtx: 4096}}
	judge := func(text string) (Status, error) {
		if os.Getenv("HOLDFAST_CLASSIFY_OWN") == "" {
			got, _, err := Classify(b.Context(), model, req, text)
			return got, err
		}
		own := *req
		own.System = "You are a coding assistant."
		own.Messages = []chat.PromptMessage{{Role: chat.RoleUser, Content: "Please do it."}, {Role: chat.RoleAssistant, Content: text}}
		got, _, err := ClassifyOwn(b.Context(), model, &own)
		return got, err
	}
	texts := finalTexts(b)
	if _, err := judge(texts[0].text); err != nil {
		b.Log("the first call, which may load the model:", err)
	}
	for b.Loop() {
		seen := map[Status]map[Status]int{StatusComplete: {}, StatusQuestion: {}, StatusUpdate: {}}
		right, failed := 0, 0
		began := time.Now()
		for _, x := range texts {
			got, err := judge(x.text)
			if err != nil {
				failed++
			}
			if seen[x.status][got]++; got == x.status {
				right++
			}
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds())/float64(len(texts)), "ms/text")
		b.ReportMetric(100*float64(right)/float64(len(texts)), "%right")
		b.Log(matrix(name, seen, failed))
	}
}

// byRules judges without a model: a question mark at the end asks, the future and the word not report, all else is done.
func byRules(p *scripted.Prompt) scripted.Reply {
	text := p.Messages[len(p.Messages)-1].Content
	own := strings.HasPrefix(text, "This is a check")
	if own {
		text = p.Messages[len(p.Messages)-2].Content
	}
	text = strings.TrimSpace(text)
	verdict := StatusComplete
	switch {
	case strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？"):
		verdict = StatusQuestion
	case strings.Contains(text, "not ") || strings.Contains(text, "I will") || strings.Contains(text, "next") || strings.Contains(text, "fail"):
		verdict = StatusUpdate
	}
	if own {
		return scripted.Text(string(verdict))
	}
	return scripted.Text(`{"status":"` + string(verdict) + `"}`)
}

// matrix writes how often each label was taken for which. What matters most is the first column: a wrong complete marks a chat as done.
func matrix(name string, seen map[Status]map[Status]int, failed int) string {
	var out strings.Builder
	columns := []Status{StatusComplete, StatusQuestion, StatusUpdate, ""}
	fmt.Fprintf(&out, "%s, %d calls failed\n%-10s", name, failed, "is \\ said")
	for _, c := range columns {
		fmt.Fprintf(&out, "%10s", map[bool]string{true: "nothing", false: string(c)}[c == ""])
	}
	said, correct := 0, 0
	for _, row := range columns[:3] {
		fmt.Fprintf(&out, "\n%-10s", row)
		for _, c := range columns {
			fmt.Fprintf(&out, "%10d", seen[row][c])
		}
		said += seen[row][StatusComplete]
		if row == StatusComplete {
			correct = seen[row][StatusComplete]
		}
	}
	if said > 0 {
		fmt.Fprintf(&out, "\nof %d called complete %.1f %% are", said, 100*float64(correct)/float64(said))
	}
	return out.String()
}
