package engine

import (
	"context"
	"errors"
	"strings"
	"sync"

	"holdfast/engine/chat"
	"holdfast/engine/prompt"
	"holdfast/engine/quick"
	"holdfast/kv"
)

// judgement is the classifier of a run that is at work, so that a Send can end it.
type judgement struct {
	mu   sync.Mutex // guards stop
	stop context.CancelFunc
}

func (j *judgement) begin(stop context.CancelFunc) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stop = stop
}

// cancel ends the judgement, so that the Turn closes at once.
func (j *judgement) cancel() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stop != nil {
		j.stop()
	}
}

// judge says whether the reply in o is the end of the task. The reply is durable before anybody is asked, so that a restart needs no second
// model call. Every failure, every doubt and every interruption is no; an error means that the run has lost its Chat.
func (r *run) judge(o outcome) (complete bool, err error) {
	if !r.t.extra.said.judges || r.interrupted() {
		return false, nil
	}
	final := chat.PlainText(o.msgs[len(o.msgs)-1].Content)
	if strings.TrimSpace(final) == "" {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(chat.WithPurpose(r.ctx, chat.UsageClassifier), quick.StatusTime)
	defer cancel()
	// Before the queue is looked at: a Send that comes later finds what to cancel.
	r.t.extra.judging.begin(cancel)
	defer r.t.extra.judging.begin(nil)
	if r.queued() {
		return false, nil
	}
	if err := r.save.save(func(*kv.Tx) error { return nil }); err != nil {
		return false, ifFenced(err)
	}
	r.draft.setPhase(chat.PhaseClosing, 0, r.e.now())
	r.e.feed.touch(r.id)
	status, err := r.classify(ctx, o, final)
	if err == nil && status == "" {
		err = errors.New("the reply names no state")
	}
	if err != nil {
		r.e.meters.quick.Inc("classifier", "error")
		r.log().Info("a finished turn was not judged", chat.LogError, err)
		return false, nil
	}
	r.e.meters.quick.Inc("classifier", "ok")
	return status == quick.StatusComplete && ctx.Err() == nil, nil
}

// ifFenced passes on a lost lease alone: a full disk is the commit's to wait for.
func ifFenced(err error) error {
	if err == errFenced {
		return err
	}
	return nil
}

// queued says whether something waits in the queue; a doubt counts as yes.
func (r *run) queued() bool {
	waits := true
	err := r.e.store.View(r.ctx, func(tx *kv.Tx) error {
		c, found, err := tx.Chat(r.id)
		waits = !found || c.Queued > 0
		return err
	})
	if err != nil {
		r.log().Warn("the queue could not be read, so the turn is not judged", chat.LogError, err)
	}
	return waits || err != nil
}

// classify asks a model beside the Chat's for the final text alone, or the Chat's own as its next Step would be asked.
func (r *run) classify(ctx context.Context, o outcome, final string) (quick.Status, error) {
	ctx = chat.WithOrigin(ctx, r.origin(chat.UsageClassifier))
	started := r.e.now()
	choice := r.e.small(ctx, r.t.config)
	var status quick.Status
	var reply chat.Reply
	var err error
	if sameModel(choice.Config, r.t.config) {
		choice.Config = r.t.config
		req, fits := r.nextRequest(o)
		if !fits {
			return "", prompt.ContextFull(prompt.Built{Request: req})
		}
		status, reply, err = quick.ClassifyOwn(ctx, r.e.model, req)
	} else {
		status, reply, err = quick.Classify(ctx, r.e.model, choice.Request(), final)
	}
	if reply.Usage.InputTokens != nil {
		r.books.spend(usageOf(r.t.chat, choice.Config, chat.UsageClassifier, reply, r.e.now().Sub(started), r.e.now()))
	}
	return status, err
}

// nextRequest is the request that would follow the reply in o, which is empty once it is committed; fits says that there is room for a short
// question after it.
func (r *run) nextRequest(o outcome) (req *chat.Request, fits bool) {
	in := r.promptInput()
	for i := range o.msgs {
		m := o.msgs[i]
		in.Messages = append(in.Messages[:len(in.Messages):len(in.Messages)], &m)
	}
	built := prompt.Build(in)
	return built.Request, built.Tokens+int64(quick.AskBytes)/3+int64(quick.AskTokens) < int64(r.t.window)
}
