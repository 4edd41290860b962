package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func TestAdaptersAreSharedByAddressAndBounded(t *testing.T) {
	o := newOthers(1, &http.Client{})
	at := func(n int) string { return fmt.Sprintf("http://server-%d.example/v1", n) }
	first, err := o.at(at(0))
	if err != nil {
		t.Fatal(err)
	}
	for n := range maxOthers {
		if _, err := o.at(at(n)); err != nil {
			t.Fatal(err)
		}
		if again, err := o.at(at(0)); err != nil || again != first {
			t.Fatalf("after %d: another adapter for the same address, %v", n, err)
		}
	}
	if _, err := o.at(at(maxOthers)); err != nil || len(o.kept) != maxOthers {
		t.Errorf("%d are kept, %v", len(o.kept), err)
	}
	for _, k := range o.kept {
		if k.baseURL == at(1) {
			t.Error("the one that was used last longest ago is kept")
		}
	}
}

func TestACallWithoutAnAddressIsRefused(t *testing.T) {
	_, err := newOthers(1, &http.Client{}).Stream(context.Background(), &chat.Request{Provider: chat.ProviderOpenAI}, func(chat.Delta) error { return nil })
	var e *chat.Error
	if !errors.As(err, &e) || e.Kind != chat.KindConfig {
		t.Errorf("%v", err)
	}
}

// TestARefusedImportEndsItsConnection: the rest of its body must not be read as the next request.
func TestARefusedImportEndsItsConnection(t *testing.T) {
	a := serveNow(t, launch{})
	for range 3 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url+"/api/v1/model-server/import?name=m", strings.NewReader("this is no GGUF"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+a.token)
		req.Header.Set("Content-Type", "application/octet-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || !res.Close || res.StatusCode < 400 {
			t.Errorf("%d, ends the connection: %v, %v", res.StatusCode, res.Close, err)
		}
		a.must("POST", "/api/v1/logins", map[string]any{}, nil)
	}
	if strings.Contains(a.log.String(), "panic") {
		t.Errorf("it panicked:\n%s", a.log)
	}
}
