package notice

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"holdfast/engine/chat"
	"holdfast/engine/seal"
	"holdfast/kv"
)

// vapidKey is the name of the record with the keys that push services know the appliance by.
const vapidKey = "push_vapid"

const (
	// senders is how many Notices are sent at once, maxWaiting how many wait.
	senders    = 4
	maxWaiting = 256
)

// Far is how Notices reach people who have no page open.
type Far struct {
	Store *kv.Store
	Key   *seal.Key
	// Known is told of each secret in use.
	Known func(chat.Secret)
	// Push calls push services, Hook the addresses of webhooks.
	Push, Hook *http.Client
	// MayCall says whether a host may be called, and lists it where it may not.
	MayCall func(ctx context.Context, kind chat.PushKind, host string, port int) error
	Mode    func() chat.OutboundMode
	Log     *slog.Logger
	// Waits are the pauses before further tries; nil is 2 s and 10 s.
	Waits []time.Duration
	// Now is time.Now where nil.
	Now func() time.Time
}

// far sends Notices.
type far struct {
	Far
	jobs chan chat.Notice
	// unwritten is touched when a Notice is to be written.
	unwritten chan struct{}

	end  context.CancelFunc
	done sync.WaitGroup
}

// Reach lets Notices reach people who have no page open, until Close.
//
//guard:none main wires it before the first Notice
func (r *Room) Reach(o Far) {
	if o.Waits == nil {
		o.Waits = []time.Duration{2 * time.Second, 10 * time.Second}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, end := context.WithCancel(context.Background())
	r.goOn(ctx, o)
	r.far = &far{Far: o, jobs: make(chan chat.Notice, maxWaiting), unwritten: make(chan struct{}, 1), end: end}
	r.far.done.Go(func() { r.keepAll(ctx) })
	for range senders {
		r.far.done.Go(func() { r.deliverAll(ctx) })
	}
}

// Close ends the sending; what waits is not sent any more.
//
//guard:none main ends what it began
func (r *Room) Close() {
	if r.far == nil {
		return
	}
	r.far.end()
	r.far.done.Wait()
}

// send hands a Notice to the senders; it never waits.
func (r *Room) send(n chat.Notice) {
	if r.far == nil || !r.far.Store.HasPushSubscriptions() {
		return
	}
	select {
	case r.far.jobs <- n:
	default:
		r.pushed.Inc("dropped")
	}
}

func (r *Room) deliverAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-r.far.jobs:
			r.deliver(ctx, n)
		}
	}
}

// vapid are the keys that push services know the appliance by.
type vapid struct {
	Public string `json:"public"`
	Sealed []byte `json:"sealed"`
}

// keys gives the VAPID keys, made when they are needed first.
func (f *far) keys(ctx context.Context) (public string, private chat.Secret, err error) {
	var v vapid
	var found bool
	err = f.Store.View(ctx, func(tx *kv.Tx) (err error) {
		found, err = tx.Site(vapidKey, &v)
		return err
	})
	if err == nil && !found {
		v, err = f.makeKeys(ctx)
	}
	if err != nil {
		return "", chat.Secret{}, err
	}
	private, err = f.Key.Open(vapidKey, v.Sealed)
	if err != nil {
		return "", chat.Secret{}, fmt.Errorf("the key for push services: %w", err)
	}
	f.Known(private)
	return v.Public, private, nil
}

// makeKeys stores new keys, unless another has done so first: then it gives those.
func (f *far) makeKeys(ctx context.Context) (vapid, error) {
	made, public, err := webpush.GenerateVAPIDKeys()
	if err != nil {
		return vapid{}, err
	}
	var v vapid
	err = f.Store.Update(ctx, func(tx *kv.Tx) error {
		v = vapid{}
		found, err := tx.Site(vapidKey, &v)
		if err != nil || found {
			return err
		}
		// Sealed here, so that a change of the appliance's key finds it.
		v = vapid{Public: public, Sealed: f.Key.Seal(vapidKey, chat.NewSecret(made))}
		return tx.PutSite(vapidKey, v)
	})
	return v, err
}

// address is what is sealed of a subscription: where it is sent, and with which keys.
type address struct {
	Endpoint string `json:"endpoint"`
	P256dh   string `json:"p256dh,omitempty"`
	Auth     string `json:"auth,omitempty"`
	// Secret signs what a webhook gets.
	Secret string `json:"secret,omitempty"`
}

func sealedName(id chat.PushID) string { return kv.PushSecret(id) }

func (f *far) seal(id chat.PushID, a address) ([]byte, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return f.Key.Seal(sealedName(id), chat.NewSecret(string(text))), nil
}

func (f *far) open(s *chat.PushSubscription) (address, error) {
	text, err := f.Key.Open(sealedName(s.ID), s.Sealed)
	if err != nil {
		return address{}, &chat.Error{Kind: chat.KindConfig, Message: "The address cannot be read with this appliance's key; add it again.", Cause: err}
	}
	var a address
	if err := json.Unmarshal([]byte(text.Reveal()), &a); err != nil {
		return address{}, err
	}
	f.Known(chat.NewSecret(a.Endpoint))
	f.Known(chat.NewSecret(a.Secret))
	return a, nil
}

func hashOf(endpoint string) chat.Hash { return chat.Hash(sha256.Sum256([]byte(endpoint))) }
