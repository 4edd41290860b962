package runlog

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// Room reads the Log. Its methods may be called from any goroutine.
type Room struct {
	store *kv.Store
	log   *Log
}

// SettingKey names the Setting in the site configuration.
const SettingKey = "run_log"

// Setting says whether calls are kept. The zero value is what counts when nothing was set.
type Setting struct {
	Off bool `json:"off,omitempty"`
}

// New gives the Room over a Log whose Setting stands in store.
func New(ctx context.Context, store *kv.Store, log *Log) (*Room, error) {
	r := &Room{store: store, log: log}
	s, err := r.read(ctx)
	log.off.Store(s.Off)
	return r, err
}

func (r *Room) read(ctx context.Context) (Setting, error) {
	var s Setting
	err := r.store.View(ctx, func(tx *kv.Tx) error {
		_, err := tx.Site(SettingKey, &s)
		return err
	})
	return s, err
}

// ListInput asks for the calls of a Chat, the newest first, behind BeforeID where that is set. Limit is 1 to 200.
type ListInput struct {
	ChatID   chat.ID
	BeforeID string
	Limit    int
}

// ListOutput is one page. Unreadable counts damaged entries, Dropped those that this process had no time or room to keep.
type ListOutput struct {
	Runs       []Run
	HasMore    bool
	Unreadable int
	Dropped    int64
	On         bool
}

// readTime bounds the wait for entries that are being written.
const readTime = 5 * time.Second

// List gives one page of a Chat's calls.
func (r *Room) List(ctx context.Context, _ chat.Principal, in ListInput) (ListOutput, error) {
	out := ListOutput{On: r.log.On(), Dropped: r.log.dropped.Load()}
	if in.Limit < 1 || in.Limit > 200 {
		return out, chat.Invalid("limit", "It must be 1 to 200.")
	}
	days, err := r.settledDays(ctx, in.ChatID)
	if err != nil {
		return out, err
	}
	for _, day := range slices.Backward(days) {
		var runs []Run
		bad, err := r.log.each(day, in.ChatID, func(run Run, _ []byte) bool {
			if run.Purpose != purposeTrace && (in.BeforeID == "" || run.ID < in.BeforeID) {
				runs = append(runs, run)
			}
			return true
		})
		if err != nil {
			return out, err
		}
		out.Unreadable += bad
		slices.SortFunc(runs, func(a, b Run) int { return -compare(a.ID, b.ID) })
		if out.Runs = append(out.Runs, runs...); len(out.Runs) > in.Limit {
			out.Runs, out.HasMore = out.Runs[:in.Limit], true
			break
		}
	}
	return out, nil
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// settledDays are those that hold all that was asked before now.
func (r *Room) settledDays(ctx context.Context, id chat.ID) ([]string, error) {
	if !plainID(id) {
		return nil, chat.NotFound("chat")
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	if err := r.log.settle(ctx); err != nil {
		return nil, err
	}
	return r.log.days()
}

// GetInput names a call of a Chat.
type GetInput struct {
	ChatID chat.ID
	RunID  string
}

// GetOutput is one call with its texts. Reused is how many bytes of tools and messages, from the first on, are as in the Chat's call
// before of the same purpose: as much the server need not read anew. It is -1 when there was none.
type GetOutput struct {
	Run    Run
	Texts  Texts
	Reused int
}

// Get gives a call of a Chat.
func (r *Room) Get(ctx context.Context, _ chat.Principal, in GetInput) (GetOutput, error) {
	out := GetOutput{Reused: -1}
	days, err := r.settledDays(ctx, in.ChatID)
	if err != nil {
		return out, err
	}
	var packed []byte
	before := map[string][]byte{}
	for _, day := range days {
		_, err := r.log.each(day, in.ChatID, func(run Run, texts []byte) bool {
			if run.Purpose == purposeTrace {
				return true
			}
			if run.ID == in.RunID {
				out.Run, packed = run, slices.Clone(texts)
				return false
			}
			before[run.Purpose+" "+run.Model] = slices.Clone(texts)
			return true
		})
		if err != nil {
			return out, err
		}
		if packed != nil {
			break
		}
	}
	if packed == nil {
		return out, chat.NotFound("model call")
	}
	if out.Texts, err = decodeTexts(packed); err != nil {
		return out, &chat.Error{Kind: chat.KindStoreDamaged, Message: "This entry of the run log is damaged.",
			Detail: "The chat itself is not affected.", Cause: err}
	}
	if last := before[out.Run.Purpose+" "+out.Run.Model]; last != nil {
		if texts, err := decodeTexts(last); err == nil {
			out.Reused = samePieces(texts.Request, out.Texts.Request)
		}
	}
	return out, nil
}

// SettingInput asks for the Setting; SetSettingInput replaces it.
type (
	SettingInput    struct{}
	SetSettingInput struct{ Setting Setting }
	// Done is an answer without content.
	Done struct{}
)

// Setting says whether calls are kept.
func (r *Room) Setting(ctx context.Context, _ chat.Principal, _ SettingInput) (Setting, error) {
	return r.read(ctx)
}

// SetSetting turns the Log on or off. What is kept already goes with its time.
func (r *Room) SetSetting(ctx context.Context, _ chat.Principal, in SetSettingInput) (Done, error) {
	err := r.store.Update(ctx, func(tx *kv.Tx) error { return tx.PutSite(SettingKey, in.Setting) })
	if err == nil {
		r.log.off.Store(in.Setting.Off)
	}
	return Done{}, err
}
