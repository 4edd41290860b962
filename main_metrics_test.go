package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestTheStoreAndItsChatsAreMeasured(t *testing.T) {
	a := serveNow(t, launch{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(res.Status, err)
	}
	body := "\n" + string(raw)
	for _, line := range []string{`holdfast_chats{state="waiting"} 0`, `holdfast_store_state{state="ok"} 1`, `holdfast_store_state{state="no_space"} 0`,
		`holdfast_streams 0`, `holdfast_commit_queue 0`, `holdfast_damaged_records_total 0`} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	for _, name := range []string{"holdfast_commit_seconds_count", "holdfast_commits_total", "holdfast_store_bytes", "holdfast_disk_free_bytes"} {
		if !strings.Contains(body, "\n"+name+" ") || strings.Contains(body, "\n"+name+" 0\n") {
			t.Errorf("no %s", name)
		}
	}
}
