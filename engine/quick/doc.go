// Package quick makes small generations beside a Turn: the title of a Chat, the judgement whether a task is done, the line that sums a Turn up
// (engine.md 13).
//
// Title, Summary and Classify ask a model beside the Chat's; TitleOwn, SummaryOwn and ClassifyOwn ask the Chat's own, behind the request that
// its next Step would send. FallbackTitle and FirstSentence ask nobody. Choose finds the model.
//
// Caveat: a failure changes nothing but the log and the counters; the caller keeps what it has, and no Turn is ever done by a failure.
package quick
