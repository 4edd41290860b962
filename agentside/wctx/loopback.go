package wctx

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"strings"
)

// Loopback lets in who knows the token and means this machine: it stands before a Handler that listens on a loopback port, where also
// every web page of the machine's browsers can knock.
func Loopback(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		sum := sha256.Sum256([]byte(given))
		switch {
		case !loopbackHost(r.Host), len(r.Header.Values("Origin")) > 0:
			turnAway(w, http.StatusForbidden, "Web pages and other machines have no access here.")
		case token == "" || !bearer || subtle.ConstantTimeCompare(sum[:], want[:]) != 1:
			turnAway(w, http.StatusUnauthorized, "The token is missing or wrong.")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func turnAway(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A reader that has left misses nothing.
	_ = json.NewEncoder(w).Encode(problem{Message: message})
}

func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}
