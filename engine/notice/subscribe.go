package notice

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"holdfast/engine/chat"
	"holdfast/kv"
)

const (
	// maxSubscriptions bounds what one person has, maxAddress the length of an address in bytes.
	maxSubscriptions = 20
	maxAddress       = 2 << 10
	maxName          = 80
)

// Done is the empty answer of a command that leaves nothing to say.
type Done struct{}

// ReachedInput asks whom the principal's Notices reach.
type ReachedInput struct{}

// Reached is whom a person's Notices reach while no page is open.
type Reached struct {
	// PublicKey is what a browser subscribes with.
	PublicKey string
	Mode      chat.OutboundMode
	All       []Subscription
}

// Subscription is a browser or a webhook. Nothing of it lets anybody push.
type Subscription struct {
	ID        chat.PushID
	Kind      chat.PushKind
	Name      string
	Host      string
	CreatedAt time.Time
	LastOK    *time.Time
	// Failed says why the last try failed, Failures how many did since the last success.
	Failed   string
	Failures int
}

// Reached gives whom the principal's Notices reach.
func (r *Room) Reached(ctx context.Context, p chat.Principal, _ ReachedInput) (Reached, error) {
	public, _, err := r.far.keys(ctx)
	if err != nil {
		return Reached{}, err
	}
	out := Reached{PublicKey: public, Mode: r.far.Mode()}
	err = r.far.Store.View(ctx, func(tx *kv.Tx) error {
		out.All = nil
		all, err := tx.PushSubscriptions(p.UserID)
		for _, s := range all {
			out.All = append(out.All, shown(s))
		}
		return err
	})
	return out, err
}

func shown(s *chat.PushSubscription) Subscription {
	return Subscription{ID: s.ID, Kind: s.Kind, Name: s.Name, Host: s.Host, CreatedAt: s.CreatedAt, LastOK: s.LastOK, Failed: s.Failed, Failures: s.Failures}
}

// SubscribeInput is what a browser got from its push service.
type SubscribeInput struct{ Name, Endpoint, P256dh, Auth string }

// Subscribe lets the principal's Notices reach a browser. One that is subscribed already gets its new keys.
func (r *Room) Subscribe(ctx context.Context, p chat.Principal, in SubscribeInput) (Subscription, error) {
	u, err := readAddress("endpoint", in.Endpoint, "https")
	if err != nil {
		return Subscription{}, err
	}
	if key, err := decode(in.P256dh); err != nil || !onCurve(key) {
		return Subscription{}, chat.Invalid("p256dh", "no public key of a browser")
	}
	if auth, err := decode(in.Auth); err != nil || len(auth) != 16 {
		return Subscription{}, chat.Invalid("auth", "no secret of a browser")
	}
	name := strings.TrimSpace(in.Name)
	if name == "" {
		name = "A browser"
	}
	return r.add(ctx, p, chat.PushBrowser, name, u, address{Endpoint: in.Endpoint, P256dh: in.P256dh, Auth: in.Auth})
}

// AddHookInput names an address that gets the principal's Notices as JSON.
type AddHookInput struct{ Name, URL string }

// Hook is a webhook with the secret that signs what it gets, shown this once.
type Hook struct {
	Subscription Subscription
	Secret       string
}

// AddHook lets the principal's Notices reach an address.
func (r *Room) AddHook(ctx context.Context, p chat.Principal, in AddHookInput) (Hook, error) {
	u, err := readAddress("url", in.URL, "http", "https")
	if err != nil {
		return Hook{}, err
	}
	name := strings.TrimSpace(in.Name)
	if name == "" {
		name = u.Hostname()
	}
	raw := make([]byte, 32)
	rand.Read(raw)
	secret := "hfw_" + base64.RawURLEncoding.EncodeToString(raw)
	s, err := r.add(ctx, p, chat.PushHook, name, u, address{Endpoint: in.URL, Secret: secret})
	return Hook{s, secret}, err
}

// readAddress reads where a Notice is sent.
func readAddress(field, text string, schemes ...string) (*url.URL, error) {
	if len(text) > maxAddress {
		return nil, chat.Invalid(field, "at most "+strconv.Itoa(maxAddress)+" bytes")
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return nil, chat.Invalid(field, "an address that begins with "+strings.Join(schemes, ":// or ")+"://")
	}
	for _, s := range schemes {
		if u.Scheme == s {
			return u, nil
		}
	}
	return nil, chat.Invalid(field, "an address that begins with "+strings.Join(schemes, ":// or ")+"://")
}

// decode reads base64 as browsers write it.
func decode(text string) ([]byte, error) {
	return base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(text), "="))
}

func onCurve(key []byte) bool {
	_, err := ecdh.P256().NewPublicKey(key)
	return err == nil
}

// add stores a subscription, and lists its host as one that waits where it may not be called yet.
func (r *Room) add(ctx context.Context, p chat.Principal, kind chat.PushKind, name string, u *url.URL, a address) (Subscription, error) {
	s := &chat.PushSubscription{ID: chat.PushID(uuid.Must(uuid.NewV7()).String()), UserID: p.UserID, Kind: kind, Name: cut(name, maxName), Host: u.Hostname(),
		CreatedAt: r.far.Now().UTC(), EndpointHash: hashOf(a.Endpoint)}
	if err := r.far.MayCall(chat.WithAsker(ctx, p.UserID), kind, u.Hostname(), portOf(u)); err != nil {
		s.Failed = sentenceOf(err)
	}
	sealed, err := r.far.seal(s.ID, a)
	if err != nil {
		return Subscription{}, err
	}
	s.Sealed = sealed
	defer r.changed(p.UserID)
	err = r.far.Store.Update(ctx, func(tx *kv.Tx) error {
		all, err := tx.PushSubscriptions(p.UserID)
		if err != nil {
			return err
		}
		left := len(all)
		for _, old := range all {
			if old.EndpointHash != s.EndpointHash {
				continue
			}
			left--
			if _, err := tx.DeletePushSubscription(p.UserID, old.ID); err != nil {
				return err
			}
		}
		if left >= maxSubscriptions {
			return &chat.Error{Kind: chat.KindWrongState, Message: "At most " + strconv.Itoa(maxSubscriptions) + " browsers and webhooks; remove one first."}
		}
		return tx.PutPushSubscription(s)
	})
	if err != nil {
		return Subscription{}, err
	}
	return shown(s), nil
}

func portOf(u *url.URL) int {
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return n
	}
	if u.Scheme == "http" {
		return 80
	}
	return 443
}

// RemoveInput names one of the principal's subscriptions.
type RemoveInput struct{ ID chat.PushID }

// Remove takes a subscription away.
func (r *Room) Remove(ctx context.Context, p chat.Principal, in RemoveInput) (Done, error) {
	defer r.changed(p.UserID)
	return Done{}, r.far.Store.Update(ctx, func(tx *kv.Tx) error {
		if !isID(in.ID) {
			return chat.NotFound("subscription")
		}
		found, err := tx.DeletePushSubscription(p.UserID, in.ID)
		if err == nil && !found {
			err = chat.NotFound("subscription")
		}
		return err
	})
}

// TryInput names one of the principal's subscriptions.
type TryInput struct{ ID chat.PushID }

// Try sends a Notice to one subscription now; why it failed stands in the answer.
func (r *Room) Try(ctx context.Context, p chat.Principal, in TryInput) (Subscription, error) {
	find := func() (s *chat.PushSubscription, err error) {
		err = r.far.Store.View(ctx, func(tx *kv.Tx) error {
			if !isID(in.ID) {
				return chat.NotFound("subscription")
			}
			found := false
			s, found, err = tx.PushSubscription(p.UserID, in.ID)
			if err == nil && !found {
				err = chat.NotFound("subscription")
			}
			return err
		})
		return s, err
	}
	s, err := find()
	if err != nil {
		return Subscription{}, err
	}
	a, err := r.far.open(s)
	if err == nil {
		err = r.far.once(chat.WithAsker(ctx, p.UserID), s.Kind, a, chat.Notice{User: p.UserID, Kind: chat.NoticeTest, Title: "Holdfast", Body: "Notices reach you here."})
	}
	if err := r.note(s, err); err != nil {
		return Subscription{}, err
	}
	if s, err = find(); err != nil {
		return Subscription{}, &chat.Error{Kind: chat.KindNotFound, Message: "The push service does not know this browser any more; it was removed. Add it again."}
	}
	return shown(s), nil
}

// isID says whether the store may have such an id.
func isID(id chat.PushID) bool {
	s := string(id)
	return len(s) == 36 && uuid.Validate(s) == nil && strings.ToLower(s) == s
}
