package gallery

import (
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"holdfast/ui/static"
)

func handler(t *testing.T) *Handler {
	t.Helper()
	assets, err := static.New("")
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(assets)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestDocuments reads every page as a browser without scripts would: ids are single, nothing is inline, nothing comes from elsewhere, every control is named.
func TestDocuments(t *testing.T) {
	h := handler(t)
	paths := []string{"/gallery/"}
	for name := range h.Pages() {
		paths = append(paths, "/gallery/page/"+name)
	}
	if len(paths) < 12 {
		t.Fatalf("%d pages", len(paths))
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != 200 {
				t.Fatalf("status %d", w.Code)
			}
			root, err := html.Parse(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			ids := map[string]bool{}
			for n := range root.Descendants() {
				if n.Type == html.ElementNode {
					element(t, n, ids)
				}
			}
			if !ids["toasts"] || !ids["shortcuts"] {
				t.Error("the document is not whole")
			}
		})
	}
}

var datastarNames = regexp.MustCompile(`^data-(signals:_(away|tokens)|attr:hidden|on-intersect|on:[a-z-]+(__[a-z.0-9]+)*|init(__delay[.a-z0-9]+)?|class:is-off|ignore|ignore-morph|preserve-attr)$`)
var ownNames = regexp.MustCompile(`^data-(answer|hint|act|url|form|ask|when|title|words|yes|says|fetch|since|until|toast|chat|interrupt|running|queues|closed|key|l|part|dialog|files|refs|blind|picture|refused|named|path|worker|count|open|push|sure|dirty|now)$`)

func element(t *testing.T, n *html.Node, ids map[string]bool) {
	t.Helper()
	for _, a := range n.Attr {
		switch {
		case a.Key == "id":
			if ids[a.Val] {
				t.Errorf("id twice: %s", a.Val)
			}
			ids[a.Val] = true
		case a.Key == "style", strings.HasPrefix(a.Key, "on"):
			t.Errorf("%s has %s", n.Data, a.Key)
		case strings.HasPrefix(a.Key, "data-") && !datastarNames.MatchString(a.Key) && !ownNames.MatchString(a.Key):
			t.Errorf("%s has %s, which neither app.js nor Datastar is known to read", n.Data, a.Key)
		case (a.Key == "src" || a.Key == "action" || n.Data == "link" && a.Key == "href" && a.Val != "data:,") && !strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "#"):
			t.Errorf("%s %s=%q is not of this host", n.Data, a.Key, a.Val)
		}
	}
	if n.Data == "style" || n.Data == "script" && n.FirstChild != nil {
		t.Errorf("an inline %s", n.Data)
	}
	if n.Data == "details" && !has(n, "data-preserve-attr") && has(n, "id") {
		t.Errorf("details %s closes when it is morphed", n.Attr)
	}
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

// TestStatesAreShown: a state that is not in the gallery is not looked at.
func TestStatesAreShown(t *testing.T) {
	w := httptest.NewRecorder()
	handler(t).ServeHTTP(w, httptest.NewRequest("GET", "/gallery/", nil))
	page := w.Body.String()
	src, err := os.ReadFile("../view/row.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`return "(i-[a-z]+)"`).FindAllStringSubmatch(string(src), -1) {
		if !strings.Contains(page, `href="#`+m[1]+`"`) {
			t.Errorf("no row with %s in the gallery", m[1])
		}
	}
	for _, want := range []string{"is-run", "is-fail", "is-wait", "is-skip", "stopped by you", "card-ask", "Retrying", "usually about", "Reasoned for", "Reasoning,", "Interrupted by you", "No chats yet", "Nothing about", "Loading chats",
		"held", "No changes", "No workspaces yet", "No tokens", "does not answer", "Earlier messages", "may have run or not", "is-tail", "Resume"} {
		if !strings.Contains(page, want) {
			t.Errorf("the gallery does not show %q", want)
		}
	}
}
