package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/chat"
)

const (
	// maxAnswer bounds an answer that is read whole.
	maxAnswer = 8 << 20
	// maxErrorBody bounds what is read of a refused request.
	maxErrorBody = 64 << 10
	// shortestKey is the length from which on a key is taken out of texts; shorter ones stand in too many words.
	shortestKey = 8
	hidden      = "***"
)

// asker makes requests with one key.
type asker struct {
	a   *Adapter
	key chat.Secret
}

// send makes a request; the answer may have any status. The caller closes its body.
func (k asker) send(ctx context.Context, method, address string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "text/event-stream")
	}
	if k.key.Set() {
		r.Header.Set("Authorization", "Bearer "+k.key.Reveal())
	}
	resp, err := k.a.client.Do(r)
	if err != nil {
		return nil, k.lost(ctx, err)
	}
	return resp, nil
}

// fetch reads the JSON answer of a question into out.
func (k asker) fetch(ctx context.Context, address string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	resp, err := k.send(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return k.refused(resp)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return k.lost(ctx, err)
	}
	if text, status := errorIn(raw); text != "" {
		return k.fault(&chat.Fault{Status: first(status, resp.StatusCode), Text: text})
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return k.fault(&chat.Fault{Status: resp.StatusCode, Text: "the answer is not JSON", Err: err})
	}
	return nil
}

// fault completes a Fault and takes the key out of it.
func (k asker) fault(f *chat.Fault) *chat.Fault {
	f.Address = k.a.address
	f.Text = k.clean(f.Text)
	if f.Err != nil {
		if text := f.Err.Error(); k.clean(text) != text {
			f.Err = &cleanError{text: k.clean(text), err: f.Err}
		}
	}
	return f
}

func (k asker) clean(text string) string {
	if key := k.key.Reveal(); len(key) >= shortestKey {
		return strings.ReplaceAll(text, key, hidden)
	}
	return text
}

// cleanError is an error whose text held the key.
type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string        { return e.text }
func (e *cleanError) Is(target error) bool { return errors.Is(e.err, target) }

// lost is a request without an answer, or an answer that broke off. A cancelled ctx is its cause alone.
func (k asker) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return k.fault(&chat.Fault{Text: "no answer", Err: err})
}

// refused makes a Fault of a status and the text of the body.
func (k asker) refused(resp *http.Response) *chat.Fault {
	f := &chat.Fault{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	f.Err = err
	f.Text, _ = errorIn(raw)
	switch {
	case f.Text != "":
	case resp.StatusCode < 400:
		f.Text = "the server points to another address (" + resp.Header.Get("Location") + "); enter that one as the base URL"
	case resp.StatusCode == http.StatusNotFound:
		f.Text = "there is no " + resp.Request.URL.Path + "; look whether the base URL must end in /v1"
	case isPage(raw):
		f.Text = fmt.Sprintf("status %d with a web page", resp.StatusCode)
	default:
		f.Text = strings.TrimSpace(strings.ToValidUTF8(string(raw), "\uFFFD"))
	}
	if f.Text == "" {
		f.Text = fmt.Sprintf("status %d without a text", resp.StatusCode)
	}
	return k.fault(f)
}

func isPage(raw []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("<")) }

// errorIn finds what servers write as an error: {"error": text}, {"error": {message, type, code}}, {"object": "error", message},
// {"detail": text}. The status is that which the error itself names, 0 for none.
func errorIn(raw []byte) (text string, status int) {
	var e struct {
		Error  json.RawMessage `json:"error"`
		Object string          `json:"object"`
		Detail json.RawMessage `json:"detail"`
		errorObject
	}
	if json.Unmarshal(raw, &e) != nil {
		return "", 0
	}
	if e.Object == "error" {
		return e.text()
	}
	if found := bytes.TrimSpace(e.Error); len(found) > 0 && string(found) != "null" {
		var plain string
		if json.Unmarshal(found, &plain) == nil {
			return endpointText(plain)
		}
		var object errorObject
		if json.Unmarshal(found, &object) == nil && object.Message != "" {
			return object.text()
		}
		return string(found), 0
	}
	var detail string
	if json.Unmarshal(e.Detail, &detail) == nil {
		return detail, 0
	}
	return "", 0
}

type errorObject struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	// Code is a status or a word.
	Code json.RawMessage `json:"code"`
}

// text adds the word that programs tell errors apart by: messages are worded anew with each version.
func (e errorObject) text() (string, int) {
	var word string
	var status int
	if json.Unmarshal(e.Code, &word) != nil || word == "" {
		word = e.Type
	}
	if json.Unmarshal(e.Code, &status) != nil || status < 400 || status > 599 {
		status = 0
	}
	if word == "" {
		return e.Message, status
	}
	return e.Message + " (" + word + ")", status
}

// endpointText: LM Studio answers unknown addresses with 200 and this text.
func endpointText(text string) (string, int) {
	if strings.HasPrefix(text, "Unexpected endpoint") {
		return text, http.StatusNotFound
	}
	return text, 0
}

// mostSeconds keeps a wait that a server names within what a Duration holds.
const mostSeconds = 1e6

func retryAfter(v string) time.Duration {
	if s, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil && s > 0 {
		return time.Duration(min(s, mostSeconds) * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

func first(numbers ...int) int {
	for _, n := range numbers {
		if n != 0 {
			return n
		}
	}
	return 0
}
