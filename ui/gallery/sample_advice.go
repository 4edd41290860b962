package gallery

import (
	"time"

	"github.com/a-h/templ"

	"holdfast/ui/text"
	"holdfast/ui/view"
)

const (
	retryQuestion = "Should the retry live in the fetcher or in the poll loop, given that the page also calls Fetch?"
	retryAdvice   = "**Put it in the fetcher, but let the caller’s context bound it.** The page has a 2 second deadline, the poll loop has none; one policy serves both if " +
		"the wait is cut by the context.\n\n- Keep the last good reading beside the client, with the time it was taken. Return it marked as stale, not silently.\n" +
		"- Retry refusals, resets and 5xx only. A 404 is a removed station.\n- Inject the clock. A test that sleeps will be switched off within a month.\n\n" +
		"Trade-off: a slow station holds one poll slot for up to a minute. With nine stations that is acceptable."
)

func advised() view.Advice {
	return view.Advice{Question: retryQuestion, Blocks: text.Prose(retryAdvice), Facts: []string{"gpt-oss:120b", "2 of 3 uses left", "6.1k tokens in, 412 out", "21 s"}}
}

func advisedAlready() *view.Advice {
	a := advised()
	return &a
}

// advices are the advisor's note in each of its states.
func advices() []templ.Component {
	const lock = "Which lock order is right here?"
	list := []view.Advice{
		{State: view.AdviceRunning, Question: retryQuestion, Wait: "Loading gpt-oss:120b", Since: ago(12 * time.Second),
			Facts: []string{"loading it takes about 40 s", "the chat’s own model must be loaded again afterwards", "2 of 3 uses left"}},
		{State: view.AdviceRunning, Question: lock, Wait: "Loading wise:7b", Since: ago(2 * time.Second), Facts: []string{"loading it was not measured yet"}},
		{State: view.AdviceRunning, Question: retryQuestion, Wait: "Consulting gpt-oss:120b", Since: ago(18 * time.Second), Blocks: text.Grow(retryAdvice[:150], 0)},
		advised(),
		{Question: lock, Blocks: text.Prose("Take the store’s lock first, always; the feed’s lock is a leaf."),
			Facts: []string{"wise:7b", "no limit", "2.2k tokens in, 18 out", "cost 0.003", "52 s, 41 s of it loading"}},
		{State: view.AdviceLimit, Question: "Is it safe to drop the old column now?", Facts: []string{"0 of 3 uses left"}, Settings: true,
			Said: "The advisor cannot be consulted again in this turn. The model goes on with its own judgement."},
		{State: view.AdviceFailed, Question: lock, Said: "gpt-oss:120b did not finish loading. The use was given back.", Facts: []string{"gpt-oss:120b", "2 of 3 uses left"}, Runs: "/chats/c/runs"},
		{State: view.AdviceRefused, Question: lock, Said: "The model made other calls beside the question. Nothing of it was run and no use was spent; it was told to ask alone."},
		{State: view.AdviceRefused, Said: "The call was refused before it cost a use: question is required."},
		{State: view.AdviceStopped, Question: lock, Said: "Stopped before there was advice. No use was spent."},
	}
	parts := make([]view.Part, len(list))
	for i := range list {
		parts[i] = view.Part{Advice: &list[i]}
	}
	return []templ.Component{view.StepItem(view.Step{N: 41, Parts: parts})}
}
