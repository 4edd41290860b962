//go:build bench && linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	bulkChats   = 5000
	bulkTurns   = 10
	bulkAtOnce  = 500
	bulkTokens  = 16
	bulkGoal    = 15 * time.Second
	bulkGate    = 30 * time.Second
	bulkMemory  = 400.0
	readerCount = 1000
)

// ledger is what the driver was told: the Messages of each Chat in the order in which they were acknowledged.
type ledger struct {
	id    string
	asked []int64
}

// benchBulk runs all Chats through their Turns, kills the appliance at the end, and holds what it kept against the ledger.
func benchBulk(r *row) {
	var walls, cpus []time.Duration
	peak := 0.0
	for run := range benchRuns(r) {
		wall, cpu, used := bulkRun(r, run)
		if r.Failed() {
			return
		}
		walls, cpus, peak = append(walls, wall), append(cpus, cpu), max(peak, used.peak)
	}
	wall, worst, cpu := median(walls), quantile(walls, 1), median(cpus)
	each := cpu / (bulkChats * bulkTurns)
	r.say("%.1f s (worst of %d: %.1f), appliance %.1f s CPU, %d µs per Turn; peak VmRSS %.0f MB; ledger right after SIGKILL", wall.Seconds(),
		len(walls), worst.Seconds(), cpu.Seconds(), each.Microseconds(), peak)
	r.goal(wall <= bulkGoal && peak <= bulkMemory)
	r.gate(wall <= bulkGate, "5,000 Chats × 10 Turns took %v, the gate is %v", wall, bulkGate)
	r.figure("bulk_wall", wall.Seconds(), "s")
	r.figure("bulk_cpu_per_turn", float64(each.Nanoseconds())/1000, "µs")
	r.figure("bulk_peak_rss", peak, "MB")
}

func bulkRun(r *row, run int) (wall, cpu time.Duration, used memory) {
	e := newEndpoint(r)
	e.answer(bulkTokens)
	data := r.TempDir()
	flags := []string{"--turns", fmt.Sprint(bulkAtOnce), "--slots", fmt.Sprint(bulkAtOnce), "--user-streams", fmt.Sprint(2 * bulkAtOnce),
		"--user-requests", fmt.Sprint(2 * bulkAtOnce)}
	p := r.startOn(data, e, flags...)
	p.model()
	// A first Chat opens what is opened once: the model's description, the first pages of the store.
	p.newChat("hello")
	var profiling sync.WaitGroup
	profiling.Go(func() {
		if err := p.profile(r.Context(), fmt.Sprint("bulk-", run), "profile?seconds=15"); err != nil {
			r.Error(err)
		}
	})
	books := make([]ledger, bulkChats)
	want := textOf(bulkTokens)
	var next atomic.Int64
	var workers sync.WaitGroup
	before, began := p.cpu(), time.Now()
	for range bulkAtOnce {
		workers.Go(func() {
			w, err := p.line()
			if err != nil {
				r.Error(err)
				return
			}
			defer w.close()
			for {
				i := int(next.Add(1)) - 1
				if i >= bulkChats || r.Failed() {
					return
				}
				if i%(bulkChats/5) == 0 && i > 0 {
					r.Logf("after %d Chats: %.1f s, appliance %.1f s CPU", i, time.Since(began).Seconds(), (p.cpu() - before).Seconds())
				}
				if err := p.bulkChat(w, &books[i], want); err != nil {
					r.Errorf("chat %d: %v", i, err)
					return
				}
			}
		})
	}
	workers.Wait()
	wall, cpu, used = time.Since(began), p.cpu()-before, p.memory()
	profiling.Wait()
	if err := p.profile(r.Context(), fmt.Sprint("bulk-", run), "heap"); err != nil {
		r.Error(err)
	}
	p.kill()
	if r.Failed() {
		return wall, cpu, used
	}
	again := r.startOn(data, e, flags...)
	again.compare(books, want)
	again.stop()
	return wall, cpu, used
}

// bulkChat makes one Chat with all its Turns, following its stream.
func (p *product) bulkChat(w *line, book *ledger, want string) error {
	var c struct {
		ID string `json:"id"`
	}
	if err := w.do(http.MethodPost, "/api/v1/chats", titled("turn 0"), &c); err != nil {
		return err
	}
	book.id = c.ID
	s, err := p.stream(c.ID)
	if err != nil {
		return err
	}
	defer s.close()
	for turn := range bulkTurns {
		if turn > 0 {
			var out struct {
				Queued  bool    `json:"queued"`
				Message message `json:"message"`
			}
			if err := w.do(http.MethodPost, "/api/v1/chats/"+c.ID+"/messages", sent(fmt.Sprint("turn ", turn)), &out); err != nil {
				return err
			}
			if out.Queued {
				return fmt.Errorf("turn %d was queued although the one before was over", turn)
			}
			book.asked = append(book.asked, out.Message.ID)
		}
		got, err := s.untilReply()
		if err != nil {
			return fmt.Errorf("turn %d: %w", turn, err)
		}
		if got != want {
			return fmt.Errorf("turn %d: the reply was %q", turn, got)
		}
	}
	return nil
}

// compare reads every Chat and fails for each Message that is not what the ledger says.
func (p *product) compare(books []ledger, want string) {
	var next atomic.Int64
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			w, err := p.line()
			if err != nil {
				p.t.Error(err)
				return
			}
			defer w.close()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(books) || p.t.Failed() {
					return
				}
				var page struct {
					Messages []message `json:"messages"`
					HasMore  bool      `json:"has_more"`
				}
				if err := w.do(http.MethodGet, "/api/v1/chats/"+books[i].id+"/messages?after_id=0&limit=200", nil, &page); err != nil {
					p.t.Error(err)
					return
				}
				if err := books[i].holds(page.Messages, want); err != nil || page.HasMore {
					p.t.Errorf("chat %s: %v, more: %v", books[i].id, err, page.HasMore)
				}
			}
		})
	}
	readers.Wait()
}

// holds says what is wrong with a Chat's Messages, nil when they are the acknowledged ones.
func (b *ledger) holds(all []message, want string) error {
	if len(all) != 2*bulkTurns {
		return fmt.Errorf("%d messages, not %d", len(all), 2*bulkTurns)
	}
	for i, m := range all {
		turn := i / 2
		switch {
		case i > 0 && m.ID <= all[i-1].ID:
			return fmt.Errorf("message %d follows %d", m.ID, all[i-1].ID)
		case i%2 == 0 && (m.Role != "user" || m.text() != fmt.Sprint("turn ", turn)):
			return fmt.Errorf("message %d is %s %q", m.ID, m.Role, m.text())
		case i%2 == 1 && (m.Role != "assistant" || m.text() != want):
			return fmt.Errorf("message %d is %s %q", m.ID, m.Role, m.text())
		case i%2 == 0 && turn > 0 && m.ID != b.asked[turn-1]:
			return fmt.Errorf("turn %d is message %d, acknowledged as %d", turn, m.ID, b.asked[turn-1])
		}
	}
	return nil
}

// benchReaders lets many streams follow one Chat whose tokens carry the time at which they were written.
func benchReaders(r *row) {
	e := newEndpoint(r)
	p := r.start(e, "--user-streams", fmt.Sprint(2*readerCount))
	p.model()
	const tokens, rate = 400, 50
	var p99s []time.Duration
	var cpus []float64
	for range benchRuns(r) {
		p99, cores := readersRun(r, e, p, tokens, rate)
		if r.Failed() {
			return
		}
		p99s, cpus = append(p99s, p99), append(cpus, cores)
	}
	p99 := median(p99s)
	r.say("p99 lag of the newest token %.0f ms (worst run %.0f), appliance %.2f cores, peak VmRSS %.0f MB", ms(p99), ms(quantile(p99s, 1)),
		cpus[len(cpus)/2], p.memory().peak)
	r.goal(p99 <= 100*time.Millisecond)
	r.figure("readers_lag_p99", ms(p99), "ms")
}

func readersRun(r *row, e *endpoint, p *product, tokens, rate int) (p99 time.Duration, cores float64) {
	e.answer(20)
	id := p.newChat("hello")
	streams := make([]*stream, readerCount)
	for i := range streams {
		var err error
		streams[i], err = p.stream(id)
		must(r, err)
		_, err = streams[i].untilReply()
		must(r, err)
	}
	e.shape.Store(&shape{tokens: tokens, every: time.Second / time.Duration(rate), stamped: true})
	lags := make([][]time.Duration, readerCount)
	texts := make([]string, readerCount)
	var readers sync.WaitGroup
	before, began := p.cpu(), time.Now()
	for i, s := range streams {
		readers.Go(func() {
			defer s.close()
			var err error
			if texts[i], lags[i], err = s.lags(); err != nil {
				r.Error(err)
			}
		})
	}
	p.call(http.MethodPost, "/api/v1/chats/"+id+"/messages", sent("go"), nil)
	readers.Wait()
	cores = (p.cpu() - before).Seconds() / time.Since(began).Seconds()
	var all []time.Duration
	for i := range texts {
		if texts[i] != texts[0] || strings.Count(texts[i], "@") != tokens {
			r.Errorf("reader %d ended on %d tokens", i, strings.Count(texts[i], "@"))
			return 0, 0
		}
		all = append(all, lags[i]...)
	}
	return quantile(all, 0.99), cores
}

// lags follows a stream to the reply; each frame's lag is the age of the newest token in it. What the pieces join to must be the reply.
func (s *stream) lags() (string, []time.Duration, error) {
	var joined strings.Builder
	var lags []time.Duration
	for {
		data, err := s.frame()
		if err != nil {
			return "", nil, err
		}
		now := time.Now().UnixNano()
		var f frame
		if err := json.Unmarshal(data, &f); err != nil {
			return "", nil, err
		}
		reply := ""
		for i := range f.Events {
			switch ev := &f.Events[i]; ev.Type {
			case "message_part":
				joined.WriteString(ev.Part.Text)
				if at := strings.LastIndexByte(ev.Part.Text, '@'); at >= 0 {
					var stamp int64
					if _, err := fmt.Sscan(ev.Part.Text[at+1:], &stamp); err != nil {
						return "", nil, err
					}
					lags = append(lags, time.Duration(now-stamp))
				}
			case "message":
				if ev.Message.Role == "assistant" {
					reply = ev.Message.text()
				}
			}
		}
		if reply != "" {
			if !strings.HasPrefix(reply, joined.String()) {
				return "", nil, fmt.Errorf("the pieces of %d bytes are no beginning of the reply of %d", joined.Len(), len(reply))
			}
			return reply, lags, nil
		}
	}
}
