package gate

import (
	"net/http"

	"holdfast/engine/chat"
)

// checkOrigin refuses what another site's page sends. CrossOriginProtection lets safe methods pass; we do not, because a foreign
// page must neither read a stream nor learn anything from a GET.
func (g *Gate) checkOrigin(r *http.Request, route Route) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		if g.cross.Check(r) != nil {
			return crossOrigin()
		}
		return nil
	}
	for _, origin := range r.Header.Values("Origin") {
		if !ownOrigin(r, origin) {
			return crossOrigin()
		}
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "cross-site" && site != "same-site" {
			continue
		}
		if !navigates(r) || route.Kind != Document {
			return crossOrigin()
		}
	}
	return nil
}

// navigates: a person follows a link in a tab of its own, and nothing of the answer is readable for the page with the link.
func navigates(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

func crossOrigin() *chat.Error {
	return &chat.Error{Kind: chat.KindCrossOrigin, Message: "Another site asked for this, so it was refused."}
}
