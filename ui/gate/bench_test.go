package gate

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"holdfast/engine/account"
	"holdfast/engine/metric"
	"holdfast/kv/kvtest"
)

// BenchmarkGate is what a signed-in request pays before its handler.
func BenchmarkGate(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	room := account.New(kvtest.Open(b), log, nil)
	owner, err := room.EnsureOwner(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	token, err := room.CreateToken(b.Context(), owner, account.CreateTokenInput{Name: "test"})
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(Options{Account: room, Metrics: metric.New(), Log: log, Addresses: nil2addr()},
		Route{Pattern: "GET /api/v1/chats/{id}", Policy: User, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})})
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/api/v1"+chatPath, nil)
	r.Host = "127.0.0.1:8420"
	r.Header.Set("Authorization", "Bearer "+token.Token)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		if g.ServeHTTP(w, r); w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
}
