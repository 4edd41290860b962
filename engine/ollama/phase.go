package ollama

import (
	"context"
	"net/http"
	"time"

	"holdfast/engine/chat"
)

// open sends the request and waits for the response's headers, which come only when the model is loaded and the prompt is
// read. Meanwhile it looks, once a second, whether the model is being loaded, and says so. stop ends ctx.
func (c *call) open(ctx context.Context, stop func(), body []byte) (*http.Response, error) {
	r, err := c.a.newRequest(ctx, http.MethodPost, "/api/chat", body)
	if err != nil {
		return nil, err
	}
	type outcome struct {
		resp *http.Response
		err  error
	}
	got := make(chan outcome, 1)
	go func() {
		resp, err := c.a.client.Do(r)
		got <- outcome{resp, err}
	}()
	w := newLoadWatch(ctx, c.a, c.req.Model)
	defer w.close()
	for {
		select {
		case o := <-got:
			if o.err != nil {
				return nil, c.lost(ctx, o.err)
			}
			return o.resp, nil
		case <-w.timer.C:
			w.look()
		case loading := <-w.found:
			w.looked()
			if err := c.setLoading(loading); err != nil {
				stop()
				if o := <-got; o.err == nil {
					o.resp.Body.Close()
				}
				return nil, err
			}
		}
	}
}

func (c *call) lost(ctx context.Context, err error) error {
	err = c.a.lost(ctx, err)
	if f, ok := err.(*chat.Fault); ok {
		f.Loading = c.loading
	}
	return err
}

func (c *call) setLoading(loading bool) error {
	if loading == c.loading {
		return nil
	}
	c.loading = loading
	phase := chat.PhaseReading
	if loading {
		phase = chat.PhaseLoading
		if c.req.Class == chat.ClassTurn {
			// Where the memory is for one model, the server loads this one only when the calls of the others are done.
			c.a.slots.EndQuick(c.req.Model)
		}
	}
	return c.give(chat.Delta{Phase: phase})
}

// loadWatch asks the server which models are loaded, one question at a time, beside the request that waits.
type loadWatch struct {
	a     *Adapter
	model string
	// ctx is the request's until the first question, then that of the questions; cancel and found are made with it.
	ctx    context.Context
	cancel context.CancelFunc
	timer  *time.Timer
	found  chan bool
	asking bool
	// expires and asked are of the last answer that listed the model. The running question owns them.
	expires, asked time.Time
}

func newLoadWatch(ctx context.Context, a *Adapter, model string) *loadWatch {
	return &loadWatch{a: a, model: model, ctx: ctx, timer: time.NewTimer(loadCheck)}
}

// look begins a question. What questions need is made with the first one: most requests are answered before it.
func (w *loadWatch) look() {
	if w.found == nil {
		w.found = make(chan bool, 1)
		w.ctx, w.cancel = context.WithCancel(w.ctx)
	}
	w.asking = true
	go func() { w.found <- w.loading() }()
}

func (w *loadWatch) looked() {
	w.asking = false
	w.timer.Reset(loadCheck)
}

// close waits for the running question.
func (w *loadWatch) close() {
	w.timer.Stop()
	if w.found == nil {
		return
	}
	w.cancel()
	if w.asking {
		<-w.found
	}
}

// loading: a model that the server does not list is being loaded. Servers list it early, while it loads, with an expiry that is
// counted from the moment of the question; of a loaded and busy model the expiry stands still.
func (w *loadWatch) loading() bool {
	models, err := w.a.loaded(w.ctx)
	if err != nil {
		return false
	}
	now := time.Now()
	for _, m := range models {
		if !sameModel(m.Name, w.model) {
			continue
		}
		moved := !w.asked.IsZero() && m.ExpiresAt.Sub(w.expires) > now.Sub(w.asked)/2
		w.expires, w.asked = m.ExpiresAt, now
		return moved
	}
	return true
}
