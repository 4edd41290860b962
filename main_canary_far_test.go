package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// canaryAuthority is an MCP server that is its own authorisation server: it registers the appliance, gives tokens, and says back what it got.
type canaryAuthority struct {
	*httptest.Server
	secrets map[string]string
	// renewed gets a value for each refused renewal.
	renewed chan struct{}
}

func newCanaryAuthority(t *testing.T, secrets map[string]string) *canaryAuthority {
	t.Helper()
	c := &canaryAuthority{secrets: map[string]string{}, renewed: make(chan struct{}, 64)}
	for i, name := range []string{"the secret of a registered client", "an access token of a sign-in", "a refresh token of a sign-in"} {
		c.secrets[name] = "oauth-canary-" + strings.Repeat(strconv.Itoa(i), 20)
		secrets[name] = c.secrets[name]
	}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *canaryAuthority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	client, access, refresh := c.secrets["the secret of a registered client"], c.secrets["an access token of a sign-in"], c.secrets["a refresh token of a sign-in"]
	switch {
	case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-authorization-server"):
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"%s/authorize","token_endpoint":"%s/token","registration_endpoint":"%s/register","token_endpoint_auth_methods_supported":["client_secret_post"]}`, c.URL, c.URL, c.URL, c.URL)
	case r.URL.Path == "/register":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"client_id":"made","client_secret":%q,"client_secret_expires_at":0}`, client)
	case r.URL.Path == "/token" && !strings.Contains(string(body), "grant_type=refresh_token"):
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"bearer","refresh_token":%q,"expires_in":3600}`, access, refresh)
	case r.URL.Path == "/token":
		c.renewed <- struct{}{}
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, `{"error":"no","error_description":%q}`, string(body))
	case strings.HasPrefix(r.URL.Path, "/.well-known/"):
		http.NotFound(w, r)
	default:
		// As a server that talks too much would: with the token.
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"I do not like %s"}}`, r.Header.Get("Authorization"))
	}
}

// signIn has the owner sign in at the server, as their browser would, and gives the server's id.
func (a *appliance) signIn(at *canaryAuthority) {
	a.t.Helper()
	host, port, _ := strings.Cut(strings.TrimPrefix(at.URL, "http://"), ":")
	number, err := strconv.Atoi(port)
	if err != nil {
		a.t.Fatal(err)
	}
	a.must("POST", "/api/v1/system/outbound/allowed", map[string]any{"host": host, "port": number, "local": true}, nil)
	var made struct {
		ID string `json:"id"`
	}
	a.must("POST", "/api/v1/mcp/servers", map[string]any{"slug": "signed", "url": at.URL + "/mcp", "enabled": true, "availability": "force_on", "auth_type": "oauth2"}, &made)
	jar, err := cookiejar.New(nil)
	if err != nil {
		a.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(path string) *http.Response {
		a.t.Helper()
		req, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.url+"/api/v1/mcp/servers/"+made.ID+"/oauth2/"+path, nil)
		if err != nil {
			a.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+a.token)
		res, err := browser.Do(req)
		if err != nil {
			a.t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	to, err := url.Parse(get("connect").Header.Get("Location"))
	if err != nil || to.Query().Get("client_id") != "made" {
		a.t.Fatalf("the browser goes to %v, %v", to, err)
	}
	if res := get("callback?code=c&state=" + url.QueryEscape(to.Query().Get("state"))); res.StatusCode != http.StatusOK {
		a.t.Fatalf("the sign-in ended with %s", res.Status)
	}
}

// canaryPush is a push service with one browser.
type canaryPush struct {
	*httptest.Server
	// roots is a file with the authority of its certificate.
	roots string
	key   *ecdh.PrivateKey
	auth  []byte
	// pushed gets a value for each payload that was read.
	pushed chan struct{}
}

func newCanaryPush(t *testing.T, look *lookout, secrets map[string]string) *canaryPush {
	t.Helper()
	p := &canaryPush{auth: make([]byte, 16), pushed: make(chan struct{}, 64), roots: filepath.Join(t.TempDir(), "roots.pem")}
	rand.Read(p.auth)
	var err error
	if p.key, err = ecdh.P256().GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	secrets["the address of a browser"] = "/push/browser-canary-" + strings.Repeat("b", 20)
	secrets["the secret of a browser"] = base64.RawURLEncoding.EncodeToString(p.auth)
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		text, err := p.open(body)
		if err != nil {
			t.Error(err)
		}
		look.keep("what was pushed to a browser", text)
		look.keep("what the push service sees", fmt.Appendf(body, "%v", r.Header))
		w.WriteHeader(http.StatusCreated)
		p.pushed <- struct{}{}
	}))
	t.Cleanup(p.Close)
	if err := os.WriteFile(p.roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// subscribe lets the owner's Notices reach the browser.
func (p *canaryPush) subscribe(a *appliance, secrets map[string]string) {
	a.t.Helper()
	host, port, _ := strings.Cut(strings.TrimPrefix(p.URL, "https://"), ":")
	number, err := strconv.Atoi(port)
	if err != nil {
		a.t.Fatal(err)
	}
	a.must("POST", "/api/v1/system/outbound/allowed", map[string]any{"host": host, "port": number, "local": true}, nil)
	var made struct {
		ID string `json:"id"`
	}
	a.must("POST", "/api/v1/notifications/subscriptions", map[string]any{"kind": "browser", "endpoint": p.URL + secrets["the address of a browser"],
		"p256dh": base64.RawURLEncoding.EncodeToString(p.key.PublicKey().Bytes()), "auth": secrets["the secret of a browser"]}, &made)
	a.must("POST", "/api/v1/notifications/subscriptions/"+made.ID+"/try", nil, nil)
}

// open decrypts what came, as RFC 8291 and RFC 8188 say.
func (p *canaryPush) open(sealed []byte) ([]byte, error) {
	salt, theirs := sealed[:16], sealed[21:21+int(sealed[20])]
	public, err := ecdh.P256().NewPublicKey(theirs)
	if err != nil {
		return nil, err
	}
	shared, err := p.key.ECDH(public)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, shared, p.auth, "WebPush: info\x00"+string(p.key.PublicKey().Bytes())+string(theirs), 32)
	if err != nil {
		return nil, err
	}
	own, err := hkdf.Key(sha256.New, key, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := hkdf.Key(sha256.New, key, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return aead.Open(nil, nonce, sealed[21+len(theirs):], nil)
}

// canaryAgent lets an Agent enrol and keeps what it says. Its private key and its token are secrets from then on.
func (a *appliance) canaryAgent(t *testing.T, look *lookout, secrets map[string]string) {
	t.Helper()
	var made struct{ Token, Command string }
	a.must("POST", "/api/v1/agents/enrolments", map[string]any{"name": "near"}, &made)
	secrets["a used enrolment token"] = made.Token
	state := t.TempDir()
	line := strings.Fields(strings.Replace(strings.TrimPrefix(made.Command, "holdfast "), "--dir .", "--dir "+t.TempDir(), 1))
	cmd, said := command(t, t.TempDir(), nil, append(line, "--state", state)...), &output{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(made.Token+"\n"), said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	online := func() bool {
		_, raw := a.raw("GET", "/api/v1/agents", nil)
		return strings.Contains(string(raw), `"state":"online"`)
	}
	eventually(t, startLimit, "the agent is online", online)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the agent ended with %v: %s", err, said)
	}
	look.keep("what the agent says", []byte(said.String()))
	raw, err := os.ReadFile(filepath.Join(state, "agent.json"))
	if err != nil {
		t.Fatal(err)
	}
	var identity struct{ Seed []byte }
	if err := json.Unmarshal(raw, &identity); err != nil || len(identity.Seed) == 0 {
		t.Fatalf("an agent without a key, %v", err)
	}
	secrets["an agent's private key"] = string(identity.Seed)
	look.folder(state, "agent.json")
}

// keysOf gives the key of the secrets, and the private keys by which the appliance is known to Agents.
func keysOf(t *testing.T, data string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(data, "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"secret.key": string(raw)}
	for _, name := range []string{"agents-ca.key", "agents.key"} {
		raw, err := os.ReadFile(filepath.Join(data, "tls", name))
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(raw)
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		number, err := parsed.(*ecdsa.PrivateKey).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		out[name], out[name+" as a file"] = string(number), strings.Split(string(raw), "\n")[1]
	}
	return out
}
