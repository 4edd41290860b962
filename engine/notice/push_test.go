package notice

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/metric"
	"holdfast/engine/outbound"
	"holdfast/engine/seal"
	"holdfast/kv"
	"holdfast/kv/kvtest"
)

var me = chat.Principal{UserID: "0190a000-0000-7000-8000-0000000000a1", Role: chat.UserMember}

// pushHost is the name in the certificate of a test's server.
const pushHost = "example.com"

// received is one request of a push service or webhook.
type received struct {
	path   string
	header http.Header
	body   []byte
}

// service is a push service or a webhook: a real server that keeps what it gets. answer may choose the status.
type service struct {
	*httptest.Server
	got chan received

	mu     sync.Mutex // guards status
	status []int
}

func newService(t *testing.T, secure bool) *service {
	s := &service{got: make(chan received, 100)}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.got <- received{r.URL.Path, r.Header.Clone(), body}
		w.WriteHeader(s.next())
	})
	if s.Server = httptest.NewUnstartedServer(h); secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// answers chooses the next statuses; the last one stays.
func (s *service) answers(status ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

func (s *service) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.status) == 0 {
		return http.StatusCreated
	}
	first := s.status[0]
	if len(s.status) > 1 {
		s.status = s.status[1:]
	}
	return first
}

// rig is a Room over a real store that sends through a real outbound.Room; pushHost and hook.home are the test's servers.
type rig struct {
	*Room
	store *kv.Store
	out   *outbound.Room
	push  *service
	hook  *service
	known *seal.Filter
}

func newRig(t *testing.T, mode chat.OutboundMode) *rig {
	t.Helper()
	r := &rig{Room: New(metric.New(), time.Now()), store: kvtest.Open(t), push: newService(t, true), hook: newService(t, false), known: &seal.Filter{}}
	var err error
	names := map[string]string{pushHost: "203.0.113.7", "hook.home": "192.168.1.20"}
	leads := map[string]string{"203.0.113.7:443": r.push.Listener.Addr().String(), "192.168.1.20:8080": r.hook.Listener.Addr().String()}
	roots := x509.NewCertPool()
	roots.AddCert(r.push.Certificate())
	r.out, err = outbound.New(t.Context(), outbound.Options{Store: r.store, Metric: metric.New(), Roots: roots,
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			if a, ok := names[host]; ok {
				return []netip.Addr{netip.MustParseAddr(a)}, nil
			}
			return nil, &net.DNSError{Name: host, IsNotFound: true}
		},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, leads[address])
		}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.out.SetMode(t.Context(), me, outbound.SetModeInput{Mode: mode}); err != nil {
		t.Fatal(err)
	}
	key, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	r.Reach(Far{Store: r.store, Key: key, Known: r.known.Add, Push: r.out.Client(outbound.Purpose{Name: "push"}), Hook: r.out.Client(outbound.Purpose{Name: "webhook"}), Mode: r.out.Mode,
		Log: slog.New(slog.DiscardHandler), Waits: []time.Duration{time.Millisecond, time.Millisecond},
		MayCall: func(ctx context.Context, kind chat.PushKind, host string, port int) error {
			return r.out.May(ctx, outbound.Purpose{Name: string(kind)}, host, port)
		}})
	t.Cleanup(r.Close)
	if err := r.store.Update(t.Context(), func(tx *kv.Tx) error { return tx.PutUser(&chat.User{ID: me.UserID, Name: "me"}) }); err != nil {
		t.Fatal(err)
	}
	return r
}

// browser is a browser's side of a subscription.
type browser struct {
	key  *ecdh.PrivateKey
	auth []byte
}

func newBrowser(t *testing.T) browser {
	t.Helper()
	key, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	auth := make([]byte, 16)
	rand.Read(auth)
	return browser{key, auth}
}

func (b browser) subscribe(t *testing.T, r *rig, path string) Subscription {
	t.Helper()
	s, err := r.Subscribe(t.Context(), me, SubscribeInput{Name: "Firefox on a laptop", Endpoint: "https://" + pushHost + path,
		P256dh: base64.RawURLEncoding.EncodeToString(b.key.PublicKey().Bytes()), Auth: base64.RawURLEncoding.EncodeToString(b.auth)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open decrypts what the push service got, as RFC 8291 and RFC 8188 say.
func (b browser) open(t *testing.T, sealed []byte) message {
	t.Helper()
	salt, rest := sealed[:16], sealed[20:]
	theirs, text := rest[1:1+int(rest[0])], rest[1+int(rest[0]):]
	public, err := ecdh.P256().NewPublicKey(theirs)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := b.key.ECDH(public)
	if err != nil {
		t.Fatal(err)
	}
	derive := func(secret, salt []byte, info string, n int) []byte {
		out, err := hkdf.Key(sha256.New, secret, salt, info, n)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	ikm := derive(shared, b.auth, "WebPush: info\x00"+string(b.key.PublicKey().Bytes())+string(theirs), 32)
	block, err := aes.NewCipher(derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := aead.Open(nil, derive(ikm, salt, "Content-Encoding: nonce\x00", 12), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain = bytes.TrimRight(plain, "\x00")
	var m message
	if err := json.Unmarshal(plain[:len(plain)-1], &m); err != nil || plain[len(plain)-1] != 2 {
		t.Fatalf("%q, %v", plain, err)
	}
	return m
}

// vouched checks the signature by which the push service knows the appliance.
func vouched(t *testing.T, header, public string) map[string]any {
	t.Helper()
	token, key, _ := strings.Cut(strings.TrimPrefix(header, "vapid t="), ", k=")
	if key != public {
		t.Fatalf("the key is %q, want %q", key, public)
	}
	part := strings.Split(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(public)
	if err != nil || len(part) != 3 {
		t.Fatal(header, err)
	}
	sig, err := base64.RawURLEncoding.DecodeString(part[2])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(part[0] + "." + part[1]))
	k, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		t.Fatal(err)
	}
	if !ecdsa.Verify(k, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
		t.Error("the signature does not hold")
	}
	claims, err := base64.RawURLEncoding.DecodeString(part[1])
	var out map[string]any
	if err := errors.Join(err, json.Unmarshal(claims, &out)); err != nil {
		t.Fatal(err)
	}
	return out
}

func (r *rig) all(t *testing.T) Reached {
	t.Helper()
	out, err := r.Reached(t.Context(), me, ReachedInput{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// settled waits until the one subscription is as wanted: its record is written behind the answer.
func (r *rig) settled(t *testing.T, want func([]Subscription) bool) []Subscription {
	t.Helper()
	for {
		all := r.all(t).All
		if want(all) {
			return all
		}
		if t.Context().Err() != nil {
			t.Fatalf("%+v", all)
		}
	}
}

func kind(err error) chat.Kind {
	var e *chat.Error
	errors.As(err, &e)
	if e == nil {
		return ""
	}
	return e.Kind
}

func TestCase68APushIsSealedForTheBrowserAndItsBodyIsTheSummary(t *testing.T) {
	r := newRig(t, chat.OutboundOpen)
	b := newBrowser(t)
	if s := b.subscribe(t, r, "/sub/secret-of-this-browser"); s.Failed != "" || s.Host != pushHost {
		t.Fatalf("%+v", s)
	}
	n := chat.Notice{User: me.UserID, Chat: "0190a000-0000-7000-8000-00000000c0c0", Kind: chat.NoticeFinished, Title: "Fix the build",
		Body: "The build passes, two tests were wrong." + strings.Repeat(" And more.", 200)}
	r.Post(n)
	got := <-r.push.got
	m := b.open(t, got.body)
	if m.Kind != chat.NoticeFinished || m.Title != "Fix the build" || !strings.HasPrefix(m.Body, "The build passes, two tests were wrong.") || len([]rune(m.Body)) != maxBody ||
		m.URL != n.URL() {
		t.Errorf("%+v", m)
	}
	if len(got.body) > 4096 || bytes.Contains(got.body, []byte("build")) || got.path != "/sub/secret-of-this-browser" {
		t.Errorf("%d bytes to %s", len(got.body), got.path)
	}
	if got.header.Get("TTL") != "86400" || got.header.Get("Urgency") != "normal" || len(got.header.Get("Topic")) != 32 || strings.Contains(got.header.Get("Topic"), "c0c0") ||
		got.header.Get("Content-Encoding") != "aes128gcm" {
		t.Errorf("%v", got.header)
	}
	if claims := vouched(t, got.header.Get("Authorization"), r.all(t).PublicKey); claims["aud"] != "https://"+pushHost {
		t.Errorf("%v", claims)
	}
	r.settled(t, func(all []Subscription) bool { return len(all) == 1 && all[0].LastOK != nil && all[0].Failures == 0 })
	// Somebody else's Notice is none of theirs, and one of a person whom nobody knows reaches nobody.
	r.Post(chat.Notice{User: "0190a000-0000-7000-8000-0000000000a2", Title: "not mine"})
	r.Post(chat.Notice{User: me.UserID, Chat: n.Chat, Kind: chat.NoticeFailed, Title: "Fix the build", Body: "The model server is away."})
	if m := b.open(t, (<-r.push.got).body); m.Body != "The model server is away." {
		t.Errorf("%+v", m)
	}
	if _, err := r.store.State(); err != "" {
		t.Error(err)
	}
	if out := r.known.Clean("https://" + pushHost + "/sub/secret-of-this-browser"); out != "***" {
		t.Errorf("the address is no secret to the log: %s", out)
	}
}

func TestABrowserThatIsGoneGoesAndOtherFailuresAreCounted(t *testing.T) {
	r := newRig(t, chat.OutboundOpen)
	b := newBrowser(t)
	s := b.subscribe(t, r, "/one")
	r.push.answers(500, 503, 201)
	r.Post(chat.Notice{User: me.UserID, Title: "t"})
	r.settled(t, func(all []Subscription) bool { return all[0].LastOK != nil })
	for range 3 {
		<-r.push.got
	}
	for i, status := range []int{400, 413, 429} {
		r.push.answers(status)
		out, err := r.Try(t.Context(), me, TryInput{ID: s.ID})
		if err != nil || out.Failures != i+1 || !strings.Contains(out.Failed, "status") || out.LastOK == nil {
			t.Errorf("%d: %+v, %v", status, out, err)
		}
		<-r.push.got
	}
	r.push.answers(201)
	if out, err := r.Try(t.Context(), me, TryInput{ID: s.ID}); err != nil || out.Failures != 0 || out.Failed != "" {
		t.Errorf("%+v, %v", out, err)
	}
	if m := b.open(t, (<-r.push.got).body); m.Kind != chat.NoticeTest || m.URL != "/notifications" {
		t.Errorf("%+v", m)
	}
	r.push.answers(410)
	r.Post(chat.Notice{User: me.UserID, Title: "t"})
	<-r.push.got
	r.settled(t, func(all []Subscription) bool { return len(all) == 0 })
	if _, err := r.Try(t.Context(), me, TryInput{ID: s.ID}); kind(err) != chat.KindNotFound {
		t.Errorf("%v", err)
	}
	s = b.subscribe(t, r, "/two")
	r.push.answers(404)
	if _, err := r.Try(t.Context(), me, TryInput{ID: s.ID}); kind(err) != chat.KindNotFound || len(r.all(t).All) != 0 {
		t.Errorf("%v", err)
	}
}

func TestNothingLeavesWhereItMayNot(t *testing.T) {
	r := newRig(t, chat.OutboundDeny)
	s := newBrowser(t).subscribe(t, r, "/one")
	if !strings.Contains(s.Failed, "offline") || r.all(t).Mode != chat.OutboundDeny {
		t.Errorf("%+v", s)
	}
	hook, err := r.AddHook(t.Context(), me, AddHookInput{URL: "http://hook.home:8080/in?token=x"})
	if err != nil {
		t.Fatal(err)
	}
	r.Post(chat.Notice{User: me.UserID, Title: "t"})
	r.settled(t, func(all []Subscription) bool { return len(all) == 2 && all[0].Failures == 1 && all[1].Failures == 1 })
	if _, err := r.out.SetMode(t.Context(), me, outbound.SetModeInput{Mode: chat.OutboundAsk}); err != nil {
		t.Fatal(err)
	}
	if out, err := r.Try(t.Context(), me, TryInput{ID: s.ID}); err != nil || !strings.Contains(out.Failed, "admin must allow") {
		t.Errorf("%+v, %v", out, err)
	}
	report, err := r.out.Report(t.Context(), me, outbound.ReportInput{})
	if err != nil || report.Called() || report.Hosts[0].Host != pushHost || !report.Hosts[0].Waits || report.Hosts[0].Entries[0].By != me.UserID {
		t.Errorf("%+v, %v", report, err)
	}
	for _, in := range []outbound.AllowInput{{Host: pushHost, Port: 443}, {Host: "hook.home", Port: 8080, Local: true}} {
		if _, err := r.out.Allow(t.Context(), me, in); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []chat.PushID{s.ID, hook.Subscription.ID} {
		if out, err := r.Try(t.Context(), me, TryInput{ID: id}); err != nil || out.Failed != "" || out.LastOK == nil {
			t.Errorf("%+v, %v", out, err)
		}
	}
	if len(r.push.got) != 1 || len(r.hook.got) != 1 {
		t.Errorf("%d pushes, %d calls", len(r.push.got), len(r.hook.got))
	}
}

func TestAWebhookGetsSignedJSON(t *testing.T) {
	r := newRig(t, chat.OutboundAsk)
	if _, err := r.out.Allow(t.Context(), me, outbound.AllowInput{Host: "hook.home", Port: 8080, Local: true}); err != nil {
		t.Fatal(err)
	}
	hook, err := r.AddHook(t.Context(), me, AddHookInput{Name: "House", URL: "http://hook.home:8080/in?token=abcdefgh"})
	if err != nil || hook.Subscription.Name != "House" || hook.Subscription.Failed != "" || !strings.HasPrefix(hook.Secret, "hfw_") {
		t.Fatalf("%+v, %v", hook.Subscription, err)
	}
	r.hook.answers(404, 502, 204)
	if out, err := r.Try(t.Context(), me, TryInput{ID: hook.Subscription.ID}); err != nil || !strings.Contains(out.Failed, "404") {
		t.Errorf("%+v, %v", out, err)
	}
	<-r.hook.got
	r.Post(chat.Notice{User: me.UserID, Chat: "c", Kind: chat.NoticeActionRequired, Title: "Deploy", Body: "Waits for you: execute"})
	<-r.hook.got
	got := <-r.hook.got
	var m message
	if err := json.Unmarshal(got.body, &m); err != nil || m != (message{chat.NoticeActionRequired, "Deploy", "Waits for you: execute", "/chats/c"}) {
		t.Errorf("%s, %v", got.body, err)
	}
	signature := got.header.Get(SignatureHeader)
	stamp, _, _ := strings.Cut(strings.TrimPrefix(signature, "t="), ",")
	at, err := time.Parse("2006", "1970")
	seconds, ok := new(big.Int).SetString(stamp, 10)
	if err != nil || !ok || Sign(hook.Secret, at.Add(time.Duration(seconds.Int64())*time.Second), got.body) != signature {
		t.Errorf("the signature %q does not hold", signature)
	}
	r.settled(t, func(all []Subscription) bool { return all[0].LastOK != nil && all[0].Failed == "" })
	err = r.store.View(t.Context(), func(tx *kv.Tx) error {
		all, err := tx.PushSubscriptions(me.UserID)
		if text, _ := json.Marshal(all); err == nil && (bytes.Contains(text, []byte("abcdefgh")) || bytes.Contains(text, []byte(hook.Secret))) {
			t.Errorf("the store has the secret open: %s", text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSubscriptionsAreChecked(t *testing.T) {
	r := newRig(t, chat.OutboundOpen)
	b := newBrowser(t)
	good := SubscribeInput{Endpoint: "https://" + pushHost + "/x", P256dh: base64.StdEncoding.EncodeToString(b.key.PublicKey().Bytes()), Auth: base64.URLEncoding.EncodeToString(b.auth)}
	for field, change := range map[string]func(*SubscribeInput){
		"endpoint": func(in *SubscribeInput) { in.Endpoint = "http://" + pushHost + "/x" },
		"p256dh":   func(in *SubscribeInput) { in.P256dh = good.Auth },
		"auth":     func(in *SubscribeInput) { in.Auth = "AAAA" },
	} {
		in := good
		change(&in)
		if _, err := r.Subscribe(t.Context(), me, in); kind(err) != chat.KindInvalid || !strings.Contains(err.Error(), "not valid") {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, url := range []string{"", "ftp://a/", "https://u:p@a/", "https:///x", "https://a/#b", "https://a/" + strings.Repeat("x", maxAddress)} {
		if _, err := r.AddHook(t.Context(), me, AddHookInput{URL: url}); kind(err) != chat.KindInvalid {
			t.Errorf("%q: %v", url, err)
		}
	}
	first, err := r.Subscribe(t.Context(), me, good)
	if err != nil || first.Name != "A browser" {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := r.Subscribe(t.Context(), me, good); err != nil || len(r.all(t).All) != 1 || again.ID == first.ID {
		t.Errorf("twice: %+v, %v", again, err)
	}
	for i := range maxSubscriptions {
		in := good
		in.Endpoint += strings.Repeat("y", i+1)
		if _, err := r.Subscribe(t.Context(), me, in); (err != nil) != (i == maxSubscriptions-1) {
			t.Errorf("%d: %v", i, err)
		}
	}
	other := chat.Principal{UserID: "0190a000-0000-7000-8000-0000000000a2"}
	id := r.all(t).All[0].ID
	for _, bad := range []struct {
		who chat.Principal
		id  chat.PushID
	}{{other, id}, {me, "nonsense"}, {me, "0190a000-0000-7000-8000-0000000000ff"}} {
		if _, err := r.Remove(t.Context(), bad.who, RemoveInput{ID: bad.id}); kind(err) != chat.KindNotFound {
			t.Errorf("%+v: %v", bad, err)
		}
		if _, err := r.Try(t.Context(), bad.who, TryInput{ID: bad.id}); kind(err) != chat.KindNotFound {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := r.Remove(t.Context(), me, RemoveInput{ID: id}); err != nil || len(r.all(t).All) != maxSubscriptions-1 {
		t.Errorf("%v", err)
	}
	// Whoever is deleted leaves nothing.
	err = r.store.Update(t.Context(), func(tx *kv.Tx) error { _, err := tx.DeleteUser(me.UserID); return err })
	if err != nil || len(r.all(t).All) != 0 {
		t.Errorf("%d are left, %v", len(r.all(t).All), err)
	}
}
