package gallery

import (
	"bytes"
	"image"
	"image/png"
	"net/http"

	"github.com/a-h/templ"

	"holdfast/ui/static"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// Handler serves the gallery at /gallery/, whole pages at /gallery/page/NAME, and the fragments that their rows fetch. It answers every POST with 204.
type Handler struct {
	assets *static.Assets
	icons  string
	mux    *http.ServeMux
}

// New makes the handler; mount it at /gallery/.
func New(assets *static.Assets) (*Handler, error) {
	icons, err := assets.Icons()
	if err != nil {
		return nil, err
	}
	h := &Handler{assets: assets, icons: icons, mux: http.NewServeMux()}
	h.mux.HandleFunc("GET /gallery/{$}", func(w http.ResponseWriter, r *http.Request) {
		h.write(w, r, states(h.page("States")))
	})
	h.mux.HandleFunc("GET /gallery/page/{name}", func(w http.ResponseWriter, r *http.Request) {
		c, ok := h.Pages()[r.PathValue("name")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h.write(w, r, c)
	})
	h.mux.HandleFunc("GET /gallery/row/{name}", func(w http.ResponseWriter, r *http.Request) {
		body, ok := bodies()[r.PathValue("name")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h.write(w, r, view.RowBody(body))
	})
	h.mux.HandleFunc("GET /gallery/picture.png", picture)
	h.mux.HandleFunc("GET /gallery/nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return h, nil
}

// picture stands for one that a person attached.
func picture(w http.ResponseWriter, _ *http.Request) {
	m := image.NewGray(image.Rect(0, 0, 128, 96))
	for i := range m.Pix {
		x, y := i%128, i/128
		m.Pix[i] = uint8(64 + x + (x*y/64)%64)
	}
	w.Header().Set("Content-Type", "image/png")
	// A reader that went away is the only way for this to fail.
	_ = png.Encode(w, m)
}

// ServeHTTP answers below /gallery/.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Pages gives whole documents with sample content, by name.
func (h *Handler) Pages() map[string]templ.Component {
	return map[string]templ.Component{
		"chat":            view.ChatDocument(chatPage(h.page("Retry the tide feed with backoff"))),
		"chat-rest":       view.ChatDocument(restPage(h.page("Import the 2019 gauge archive"))),
		"chat-damaged":    view.ChatDocument(damagedPage(h.page("Import the 2019 gauge archive"))),
		"chat-empty":      view.NewChatDocument(newChat(h.page("New chat"), true)),
		"chat-first":      view.NewChatDocument(newChat(h.page("New chat"), false)),
		"login":           view.LoginDocument(view.LoginPage{Page: h.page("Sign in"), Host: "pier-box"}),
		"login-refused":   view.LoginDocument(view.LoginPage{Page: h.page("Sign in"), Host: "pier-box", Problem: "This code is used, expired or unknown."}),
		"login-password":  view.LoginDocument(view.LoginPage{Page: h.page("Sign in"), Host: "pier-box", ByName: true, Name: "ingrid", Problem: "Name and password do not match. 4 tries left, then a wait of 30 seconds."}),
		"login-link":      view.LoginDocument(view.LoginPage{Page: h.page("Sign in"), Host: "pier-box", Code: "0123456789abcdef"}),
		"onboarding":      view.OnboardingDocument(onboarding(h.page("Choose a model"))),
		"onboarding-none": view.OnboardingDocument(noServer(h.page("No model server"))),
		"no-model":        view.NoModelDocument(h.page("No model yet")),
		"models":          view.ModelsDocument(models(h.page("Models"))),
		"workspaces":      view.WorkspacesDocument(workspaces(h.page("Workspaces"))),
		"workspaces-keep": templ.Join(view.WorkspacesDocument(workspaces(h.page("Workspaces"))),
			view.KeepDialog("w2", "almanac", "Its worktree is not clean. 3 files are changed, 1 is new.")),
		"templates":       view.TemplatesDocument(templates(h.page("Templates"))),
		"templates-none":  view.TemplatesDocument(view.TemplatesPage{Page: h.page("Templates"), Note: note(), Admin: true, New: template("n", "")}),
		"templates-other": view.TemplatesDocument(view.TemplatesPage{Page: h.page("Templates"), Note: note(), Templates: templates(h.page("")).Templates}),
		"context":         view.ContextDocument(contextPage(h.page("Context of tidewatch"), contextOf(""))),
		"context-away":    view.ContextDocument(contextPage(h.page("Context of tidewatch"), awayContext())),
		"context-none":    view.ContextDocument(contextPage(h.page("Context of tidewatch"), noContext())),
		"context-diff": view.ContextChangesDocument(view.ContextChangesPage{Page: h.page("What changed"), Chat: "c",
			Files: text.Diff("/srv/shop/AGENTS.md", "@@ -1 +1 @@\n-Use tabs.\n+Use spaces.\n")}),
		"context-text":   view.ContextTextDocument(contextText(h.page("AGENTS.md"))),
		"archive":        view.ArchiveDocument(view.ArchivePage{Page: h.page("Archive"), Nav: nav(""), List: archived()}),
		"users":          view.PeopleDocument(people(h.page("Users"))),
		"user":           view.PersonDocument(person(h.page("Jonas"), false)),
		"user-disabled":  view.PersonDocument(person(h.page("Jonas"), true)),
		"account":        view.OwnDocument(own(h.page("Account"))),
		"agents":         view.AgentsDocument(farAgents(h.page("Agents"))),
		"agents-renewed": view.AgentsDocument(renewedAgent(h.page("Agents"))),
		"agents-none":    view.AgentsDocument(view.AgentsPage{Page: h.page("Agents"), Note: note(), Open: true, Problem: "Give the workspace a name."}),
		"agents-closed":  view.AgentsDocument(view.AgentsPage{Page: h.page("Agents"), Note: note()}),
		"mcp":            view.MCPDocument(mcpServers(h.page("MCP servers"))),
		"mcp-none":       view.MCPDocument(view.MCPPage{Page: h.page("MCP servers"), Note: note()}),
		"mcp-other":      view.MCPDocument(membersServers(h.page("MCP servers"))),
		"audit":          view.AuditDocument(auditPage(h.page("Audit"))),
		"audit-none":     view.AuditDocument(view.AuditPage{Page: h.page("Audit"), Note: note(), Check: view.AuditCheck{Problem: "The number is that of a record, such as 812.", Number: "x"}}),
		"tokens":         view.TokensDocument(tokens(h.page("Tokens"))),
		"usage":          view.UsageDocument(usage(h.page("Usage"))),
		"usage-year":     view.UsageDocument(usageYear(h.page("Usage"))),
		"usage-day":      view.UsageDocument(usageDay(h.page("Usage"))),
		"usage-none":     view.UsageDocument(usageNone(h.page("Usage"))),
		"error": view.ErrorDocument(view.ErrorPage{Page: h.page("Not found"), Status: 404, Title: "There is no such chat",
			Message: "It was deleted, or the address is not whole.", ID: "0197c2f4"}),
	}
}

func (h *Handler) page(title string) view.Page {
	return view.Page{Title: title, Assets: h.assets.URL, Icons: h.icons}
}

func (h *Handler) write(w http.ResponseWriter, r *http.Request, c templ.Component) {
	var out bytes.Buffer
	if err := c.Render(r.Context(), &out); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self'; img-src 'self' data:; font-src 'self'; "+
		"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	// A reader that went away is the only way for this to fail.
	_, _ = out.WriteTo(w)
}
