package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdfast/engine/chat"
)

const prefix = "/api/v1"

// maxAnswer bounds an answer that is no stream, in bytes.
const maxAnswer = 64 << 20

// Client speaks to one appliance. It may be used from any goroutine.
type Client struct {
	base  string
	token string
	http  *http.Client
	wait  waits
}

// waits are the times of a Stream; tests shorten them.
type waits struct {
	// silence ends a connection that sends nothing, not even a keep-alive.
	silence time.Duration
	// first and longest bound the doubling pause between connections, giveUp all pauses since the last Frame.
	first, longest, giveUp time.Duration
}

func defaultWaits() waits {
	return waits{silence: 45 * time.Second, first: 250 * time.Millisecond, longest: 5 * time.Second, giveUp: 30 * time.Second}
}

// New makes a Client for an address such as "http://127.0.0.1:8420".
func New(address, token string) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not an address such as http://127.0.0.1:8420", address)
	}
	// A proxy of the environment must not see the token, and would not reach a loopback address anyway.
	transport := &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute}
	return newClient(u.Scheme+"://"+u.Host, token, transport), nil
}

// NewUnix makes a Client for the appliance's Unix socket.
func NewUnix(socket, token string) *Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	return newClient("http://holdfast", token, &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		}})
}

func newClient(base, token string, transport *http.Transport) *Client {
	// A redirect would carry the token to where nobody asked for.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: base, token: token, http: &http.Client{Transport: transport, CheckRedirect: stay}, wait: defaultWaits()}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

type keyOf struct{}

// WithKey makes the next POST under /chats use this Idempotency-Key: 1 to 128 visible ASCII characters. With the same key and the
// same body a request whose outcome is unknown can be repeated.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOf{}, key)
}

// call makes one request and decodes the answer into out, unless that is nil or the answer is empty.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, in, out any) error {
	req, err := c.request(ctx, method, path, query, in)
	if err != nil {
		return err
	}
	return c.decode(req, out)
}

// decode makes a request and decodes its answer; a *[]byte takes it as it came.
func (c *Client) decode(req *http.Request, out any) error {
	method, path := req.Method, req.URL.Path
	res, err := c.do(req)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	if len(b) > maxAnswer {
		return fmt.Errorf("the answer to %s %s is larger than %d bytes", method, path, maxAnswer)
	}
	if whole, ok := out.(*[]byte); ok {
		*whole = b
		return nil
	}
	if out == nil || len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("the answer to %s %s: %w", method, path, err)
	}
	return nil
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, in any) (*http.Request, error) {
	target := c.base + prefix + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var body io.Reader
	if raw, ok := in.(rawJSON); ok {
		body = bytes.NewReader(raw)
	} else if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPost && (path == "/chats" || strings.HasPrefix(path, "/chats/")) {
		key, _ := ctx.Value(keyOf{}).(string)
		if key == "" {
			key = rand.Text()
		}
		req.Header.Set("Idempotency-Key", key)
	}
	return req, nil
}

// do makes the request; an answer that is not 2xx becomes an error.
func (c *Client) do(req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		if cause := context.Cause(req.Context()); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("read the answer to %s %s: %w", req.Method, req.URL.Path, err)
	}
	return nil, refusal(res, b)
}

// refusal reads the error of an answer.
func refusal(res *http.Response, b []byte) error {
	var e chat.Error
	if err := json.Unmarshal(b, &e); err == nil && e.Kind != "" {
		e.StatusCode = res.StatusCode
		if e.Kind == chat.KindUsageLimit {
			var s chat.UsageStanding
			if err := json.Unmarshal(b, &s); err == nil {
				e.Limit = &s
			}
		}
		return &e
	}
	if res.StatusCode == http.StatusMisdirectedRequest {
		return &chat.Error{Kind: chat.KindUnknownHost, Message: strings.TrimSpace(string(b)), StatusCode: res.StatusCode}
	}
	return fmt.Errorf("the server answered %s and is no Holdfast", res.Status)
}
