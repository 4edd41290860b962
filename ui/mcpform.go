package ui

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"holdfast/engine/chat"
	"holdfast/engine/mcp"
	"holdfast/ui/view"
)

// The selects of a server's form: values and labels in turn.
var (
	transportChoices    = []string{chat.MCPStreamableHTTP, "streamable HTTP", chat.MCPSSE, "SSE"}
	authChoices         = []string{chat.MCPAuthNone, "none", chat.MCPAuthOAuth2, "each person signs in (OAuth 2)", chat.MCPAuthAPIKey, "an API key", chat.MCPAuthHeaders, "headers of your own"}
	availabilityChoices = []string{chat.MCPDefaultOff, "chosen by each chat", chat.MCPDefaultOn, "preselected in new chats", chat.MCPForceOn, "in every chat"}
	// secretFields are never sent back to a page.
	secretFields = []string{"oauth2_client_secret", "api_key_value", "custom_headers"}
)

// mcpValues are the texts of a server's form, by the names of its fields.
func mcpValues(s chat.MCPServer) map[string]string {
	box := func(on bool) string {
		if on {
			return "1"
		}
		return ""
	}
	return map[string]string{"slug": s.Slug, "display_name": s.DisplayName, "description": s.Description, "icon": s.Icon, "transport": s.Transport, "url": s.URL,
		"auth_type": s.AuthType, "oauth2_client_id": s.OAuth2ClientID, "oauth2_auth_url": s.OAuth2AuthURL, "oauth2_token_url": s.OAuth2TokenURL,
		"oauth2_scopes": s.OAuth2Scopes, "api_key_header": s.APIKeyHeader, "tool_allow_list": strings.Join(s.ToolAllowList, "\n"),
		"tool_deny_list": strings.Join(s.ToolDenyList, "\n"), "read_only_tools": strings.Join(s.ReadOnlyTools, "\n"), "availability": s.Availability,
		"allow_in_plan_mode": box(s.AllowInPlanMode), "enabled": box(s.Enabled)}
}

// mcpGroups are the fields of a server's form with their values and what is wrong with them, by name.
func mcpGroups(id string, values map[string]string, stored chat.MCPServer, wrong map[string]string) []view.FieldGroup {
	line := func(name, label, hint string) view.Field {
		return view.Field{ID: "mcp-" + name + "-" + id, Name: name, Label: label, Hint: hint, Value: values[name], Error: wrong[name]}
	}
	choice := func(name, label, hint string, pairs []string) view.Field {
		f := line(name, label, hint)
		f.Options = view.Choices(values[name], pairs...)
		return f
	}
	many := func(name, label, hint string) view.Field {
		f := line(name, label, hint)
		f.Lines = 3
		return f
	}
	secret := func(name, label, hint string, has bool) []view.Field {
		state := "None is kept."
		if has {
			state = "One is kept; empty leaves it."
		}
		f := line(name, label, strings.TrimSpace(hint+" "+state))
		f.Value = ""
		if !has {
			return []view.Field{f}
		}
		return []view.Field{f, {Box: true, Name: "clear_" + name, Label: "Clear it", Hint: "Forgets the one that is kept."}}
	}
	headers := secret("custom_headers", "Headers", "Name: value, one per line. They replace all that are kept.", stored.HasCustomHeaders)
	headers[0].Lines = 3
	box := func(name, label, hint string) view.Field {
		return view.Field{Box: true, Name: name, Label: label, Hint: hint, Checked: values[name] != ""}
	}
	oauth := append([]view.Field{line("oauth2_client_id", "Client id", "Empty: Holdfast registers itself where the authorisation server offers that.")},
		secret("oauth2_client_secret", "Client secret", "Needs both addresses below: it goes nowhere that the server names itself.", stored.HasOAuth2Secret)...)
	oauth = append(oauth, line("oauth2_auth_url", "Address of the sign-in", "Empty asks the server itself."), line("oauth2_token_url", "Address of the tokens", ""),
		line("oauth2_scopes", "Scopes", "Words with spaces between."))
	moved := ""
	if stored.ID != "" {
		moved = "On another host the secrets must be entered again."
	}
	return []view.FieldGroup{
		{Fields: []view.Field{line("slug", "Slug", "Begins the names of its tools: small letters, digits and -."), line("display_name", "Name", ""), line("description", "Description", ""),
			line("url", "Address", moved), choice("transport", "Transport", "", transportChoices),
			choice("auth_type", "Access", "", authChoices), choice("availability", "In chats", "", availabilityChoices), box("enabled", "Enabled", "Chats may use it.")}},
		{Title: "Sign-in of each person", Fields: oauth},
		{Title: "API key", Fields: append([]view.Field{line("api_key_header", "Header", "Empty: Authorization.")}, secret("api_key_value", "Key", "As the header has it, such as Bearer and the key.", stored.HasAPIKey)...)},
		{Title: "Headers", Fields: headers},
		{Title: "Tools", Fields: []view.Field{many("tool_allow_list", "Only these", "The server's own names, one per line. Empty: all."),
			many("tool_deny_list", "Not these", "Counts where the list above is empty."), many("read_only_tools", "These only read", "They run without asking."),
			box("allow_in_plan_mode", "In plan mode too", "")}},
		{Title: "Icon", Fields: []view.Field{line("icon", "Icon", "The name of an icon, or a data URL of at most 32 KiB.")}},
	}
}

// mcpFields reads a server's form. wrong says by name what cannot be read.
func mcpFields(form url.Values) (in mcp.Fields, wrong map[string]string) {
	wrong = map[string]string{}
	text := func(name string) *string {
		v := strings.TrimSpace(form.Get(name))
		return &v
	}
	list := func(name string) *[]string {
		v := lines(form.Get(name))
		return &v
	}
	box := func(name string) *bool {
		v := form.Get(name) != ""
		return &v
	}
	secret := func(name string) *chat.Secret {
		typed := strings.TrimSpace(form.Get(name))
		if typed == "" && form.Get("clear_"+name) == "" {
			return nil
		}
		s := chat.NewSecret(typed)
		return &s
	}
	in = mcp.Fields{Slug: text("slug"), DisplayName: text("display_name"), Description: text("description"), Icon: text("icon"), Transport: text("transport"),
		URL: text("url"), AuthType: text("auth_type"), OAuth2ClientID: text("oauth2_client_id"), OAuth2ClientSecret: secret("oauth2_client_secret"),
		OAuth2AuthURL: text("oauth2_auth_url"), OAuth2TokenURL: text("oauth2_token_url"), OAuth2Scopes: text("oauth2_scopes"),
		APIKeyHeader: text("api_key_header"), APIKeyValue: secret("api_key_value"), ToolAllowList: list("tool_allow_list"), ToolDenyList: list("tool_deny_list"),
		ReadOnlyTools: list("read_only_tools"), AllowInPlanMode: box("allow_in_plan_mode"), Availability: text("availability"), Enabled: box("enabled")}
	typed := lines(form.Get("custom_headers"))
	if len(typed) == 0 && form.Get("clear_custom_headers") == "" {
		return in, wrong
	}
	all := map[string]chat.Secret{}
	for _, one := range typed {
		name, value, ok := strings.Cut(one, ":")
		if !ok {
			wrong["custom_headers"] = "Write Name: value, one per line."
		}
		all[strings.TrimSpace(name)] = chat.NewSecret(strings.TrimSpace(value))
	}
	in.CustomHeaders = &all
	return in, wrong
}

// pinView is a tool with how it differs from what was accepted.
func pinView(p chat.MCPPin) view.MCPTool {
	out := view.MCPTool{Name: p.Name, New: p.Accepted == nil}
	if p.Offered == nil {
		return out
	}
	out.Pin = p.Offered.Pin().String()
	if p.Accepted == nil {
		out.Diff = definition(p.Offered)
		return out
	}
	out.Diff = udiff.Unified("accepted", "now", definition(p.Accepted), definition(p.Offered))
	return out
}

// definition is a tool's description and schema as text.
func definition(t *chat.MCPTool) string {
	var b bytes.Buffer
	if json.Indent(&b, t.Schema, "", "  ") != nil {
		b.Reset()
		b.Write(t.Schema)
	}
	return t.Description + "\n\n" + b.String() + "\n"
}
