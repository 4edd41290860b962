package notice

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	webpush "github.com/SherClockHolmes/webpush-go"

	"holdfast/engine/chat"
	"holdfast/kv"
)

const (
	// pushTTL is how long a push service keeps what it cannot deliver, in seconds.
	pushTTL = 24 * 60 * 60
	// maxTitle and maxBody bound the texts in runes; a push service takes 4,096 bytes sealed.
	maxTitle = 120
	maxBody  = 400
	// maxReply is how much of an answer is read.
	maxReply = 4 << 10
	// subscriber is whom a push service may turn to; this machine has no address to give.
	subscriber = "nobody@holdfast.invalid"
)

// errGone: the push service does not know the subscription any more.
var errGone = errors.New("the push service does not know this browser any more")

// statusError is an answer that is no success.
type statusError struct{ status int }

func (e statusError) Error() string { return "the answer was " + strconv.Itoa(e.status) }

// deliver sends a Notice to all that its person has subscribed. What fails changes nothing but its own record.
func (r *Room) deliver(ctx context.Context, n chat.Notice) {
	var all []*chat.PushSubscription
	err := r.far.Store.View(ctx, func(tx *kv.Tx) error {
		u, found, err := tx.User(n.User)
		if err != nil || !found || u.Disabled || slices.Contains(u.MutedNotices, n.Kind) {
			return err
		}
		all, err = tx.PushSubscriptions(n.User)
		return err
	})
	if err != nil && ctx.Err() == nil {
		r.far.Log.WarnContext(ctx, "a notice could not be sent", chat.LogError, err)
	}
	for _, s := range all {
		// The outcome stands in the record of the subscription.
		_ = r.deliverTo(chat.WithAsker(ctx, n.User), s, n)
	}
}

// deliverTo sends a Notice to one subscription and notes what became of it.
func (r *Room) deliverTo(ctx context.Context, s *chat.PushSubscription, n chat.Notice) error {
	a, err := r.far.open(s)
	for try := 0; err == nil; try++ {
		if err = r.far.once(ctx, s.Kind, a, n); err == nil || !worthAnother(err) || try == len(r.far.Waits) {
			break
		}
		if !pause(ctx, r.far.Waits[try]) {
			return ctx.Err()
		}
		err = nil
	}
	return errors.Join(err, r.note(s, err))
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// worthAnother: the other side was busy or away. What was refused here or there stays refused.
func worthAnother(err error) bool {
	var s statusError
	if errors.As(err, &s) {
		return s.status == http.StatusTooManyRequests || s.status >= 500
	}
	var refused *chat.Error
	return !errors.As(err, &refused) && !errors.Is(err, errGone) && !errors.Is(err, context.Canceled)
}

// once tries once.
func (f *far) once(ctx context.Context, kind chat.PushKind, a address, n chat.Notice) error {
	if kind == chat.PushHook {
		return f.callHook(ctx, a, n)
	}
	public, private, err := f.keys(ctx)
	if err != nil {
		return &chat.Error{Kind: chat.KindConfig, Message: "The key for push services cannot be read; add this browser again.", Cause: err}
	}
	body, err := json.Marshal(payload(n))
	if err != nil {
		return err
	}
	urgency := webpush.UrgencyNormal
	if n.Kind == chat.NoticeActionRequired {
		urgency = webpush.UrgencyHigh
	}
	resp, err := webpush.SendNotificationWithContext(ctx, body, &webpush.Subscription{Endpoint: a.Endpoint, Keys: webpush.Keys{Auth: a.Auth, P256dh: a.P256dh}},
		&webpush.Options{HTTPClient: f.Push, Subscriber: subscriber, Topic: topic(n.Chat), TTL: pushTTL, Urgency: urgency, VAPIDPublicKey: public,
			VAPIDPrivateKey: private.Reveal()})
	if err != nil {
		return withoutAddress(err)
	}
	return finish(resp)
}

// finish reads an answer so that its connection can serve again.
func finish(resp *http.Response) error {
	_, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxReply))
	err = errors.Join(err, resp.Body.Close())
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return errGone
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return statusError{resp.StatusCode}
	}
	return err
}

// withoutAddress takes the address out of an error of an http.Client: it is a secret.
func withoutAddress(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// topic lets a newer Notice of a Chat take the place of one that was not delivered yet, and says nothing about the Chat.
func topic(id chat.ID) string {
	sum := sha256.Sum256([]byte("topic:" + id))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:32]
}

// message is what a browser or a webhook gets.
type message struct {
	Kind  chat.NoticeKind `json:"kind"`
	Title string          `json:"title"`
	Body  string          `json:"body"`
	URL   string          `json:"url"`
}

func payload(n chat.Notice) message {
	return message{Kind: n.Kind, Title: cut(n.Title, maxTitle), Body: cut(n.Body, maxBody), URL: n.URL()}
}

func cut(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:most-1]) + "…"
}

// SignatureHeader holds the time of a call of a webhook and the HMAC-SHA256 of "time.body" under the webhook's secret.
const SignatureHeader = "Holdfast-Signature"

// Sign gives the value of SignatureHeader.
func Sign(secret string, at time.Time, body []byte) string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "."))
	mac.Write(body)
	return "t=" + stamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// callHook posts the Notice as JSON, signed.
func (f *far) callHook(ctx context.Context, a address, n chat.Notice) error {
	body, err := json.Marshal(payload(n))
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Endpoint, bytes.NewReader(body))
	if err != nil {
		return withoutAddress(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(SignatureHeader, Sign(a.Secret, f.Now(), body))
	resp, err := f.Hook.Do(req)
	if err != nil {
		return withoutAddress(err)
	}
	// A webhook that is not there may come back; only a push service says that a browser is gone for good.
	if err := finish(resp); !errors.Is(err, errGone) {
		return err
	}
	return statusError{resp.StatusCode}
}

// note keeps what became of a try; a browser that is gone goes.
func (r *Room) note(s *chat.PushSubscription, failed error) error {
	result := "sent"
	var refused *chat.Error
	switch {
	case errors.Is(failed, errGone):
		result = "gone"
	case errors.As(failed, &refused):
		result = "refused"
	case failed != nil:
		result = "failed"
	}
	r.pushed.Inc(result)
	now := r.far.Now().UTC()
	defer r.changed(s.UserID)
	// The sending may be over because the appliance stops; what is known is kept.
	return r.far.Store.Update(context.Background(), func(tx *kv.Tx) error {
		if result == "gone" {
			_, err := tx.DeletePushSubscription(s.UserID, s.ID)
			return err
		}
		kept, found, err := tx.PushSubscription(s.UserID, s.ID)
		if err != nil || !found {
			return err
		}
		if failed == nil {
			kept.LastOK, kept.Failed, kept.Failures = &now, "", 0
		} else {
			kept.Failed, kept.Failures = sentenceOf(failed), kept.Failures+1
		}
		return tx.PutPushSubscription(kept)
	})
}

func sentenceOf(err error) string {
	var said *chat.Error
	var status statusError
	switch {
	case errors.As(err, &said):
		return cut(said.Message+" "+said.Detail, maxBody)
	case errors.As(err, &status):
		return "It answered with status " + strconv.Itoa(status.status) + "."
	}
	return "It does not answer."
}
