package mcp

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"holdfast/engine/chat"
)

const (
	maxSlug    = 32
	maxName    = 80
	maxText    = 500
	maxIcon    = 32 << 10
	maxURL     = 2000
	maxSecret  = 8 << 10
	maxHeaders = 20
	maxListed  = 500
	maxServers = 200
)

var (
	slugForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) })
	headerForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$") })
	assetForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9-]{1,40}$`) })
	iconForm   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$`)
	})
)

// reserved headers are the protocol's own, or say how a request is read.
var reserved = map[string]bool{"Host": true, "Content-Length": true, "Content-Type": true, "Transfer-Encoding": true, "Connection": true, "Upgrade": true,
	"Te": true, "Trailer": true, "Accept": true, "Accept-Encoding": true, "Mcp-Session-Id": true, "Mcp-Protocol-Version": true, "Mcp-Method": true, "Mcp-Name": true,
	"Last-Event-Id": true}

// validate checks a whole config as it would be stored, and the secrets of the change; has says which secrets there would be.
func validate(s *chat.MCPServer, f Fields, has map[string]bool) []chat.Validation {
	var v []chat.Validation
	bad := func(field, detail string) { v = append(v, chat.Validation{Field: field, Detail: detail}) }
	if !slugForm().MatchString(s.Slug) || len(s.Slug) > maxSlug {
		bad("slug", fmt.Sprintf("small letters, digits and single - between them, at most %d", maxSlug))
	}
	if s.DisplayName == "" || utf8.RuneCountInString(s.DisplayName) > maxName || !oneLine(s.DisplayName) {
		bad("display_name", fmt.Sprintf("one line of at most %d characters", maxName))
	}
	if utf8.RuneCountInString(s.Description) > maxText || !utf8.ValidString(s.Description) {
		bad("description", fmt.Sprintf("at most %d characters", maxText))
	}
	if s.Icon != "" && (len(s.Icon) > maxIcon || !assetForm().MatchString(s.Icon) && !iconForm().MatchString(s.Icon)) {
		bad("icon", "the name of a local icon, or a data URL of a PNG, JPEG, GIF or WebP of at most 32 KiB")
	}
	if s.Transport != chat.MCPStreamableHTTP && s.Transport != chat.MCPSSE {
		bad("transport", "must be streamable_http or sse")
	}
	if why := badURL(s.URL, true); why != "" {
		bad("url", why)
	}
	switch s.Availability {
	case chat.MCPForceOn, chat.MCPDefaultOn, chat.MCPDefaultOff:
	default:
		bad("availability", "must be force_on, default_on or default_off")
	}
	for field, names := range map[string][]string{"tool_allow_list": s.ToolAllowList, "tool_deny_list": s.ToolDenyList, "read_only_tools": s.ReadOnlyTools} {
		if len(names) > maxListed {
			bad(field, fmt.Sprintf("at most %d names", maxListed))
		}
		for _, name := range names {
			if len(name) > 256 || !oneLine(name) {
				bad(field, "each is the name of a tool, in one line")
				break
			}
		}
	}
	return append(append(v, validateAuth(s, has)...), validateSecrets(s, f)...)
}

// secretNeedsAddresses: what a server says about itself may change, and it could have the secret sent to itself.
const secretNeedsAddresses = "with a client secret enter both addresses of the sign-in: the secret goes nowhere that the server names itself"

// validateAuth checks together what the auth type needs.
func validateAuth(s *chat.MCPServer, has map[string]bool) []chat.Validation {
	var v []chat.Validation
	bad := func(field, detail string) { v = append(v, chat.Validation{Field: field, Detail: detail}) }
	switch s.AuthType {
	case chat.MCPAuthNone:
	case chat.MCPAuthOAuth2:
		// Where the server is asked where to sign in, it may register this appliance, too.
		if s.OAuth2ClientID == "" && s.OAuth2AuthURL != "" || len(s.OAuth2ClientID) > maxText || !oneLine(s.OAuth2ClientID) {
			bad("oauth2_client_id", "name the client that is registered at the authorisation server")
		}
		// Without both the server itself is asked where to sign in.
		if (s.OAuth2AuthURL == "") != (s.OAuth2TokenURL == "") {
			bad("oauth2_token_url", "give both addresses, or neither")
		}
		if has[fieldClientSecret] && s.OAuth2TokenURL == "" {
			bad("oauth2_token_url", secretNeedsAddresses)
		}
		if len(s.OAuth2Scopes) > maxURL || !oneLine(s.OAuth2Scopes) {
			bad("oauth2_scopes", "words in one line")
		}
	case chat.MCPAuthAPIKey:
		if !headerForm().MatchString(s.APIKeyHeader) || reserved[http.CanonicalHeaderKey(s.APIKeyHeader)] {
			bad("api_key_header", "the name of a header that the protocol does not use itself")
		}
		if !has[fieldAPIKey] {
			bad("api_key_value", "give the key")
		}
	case chat.MCPAuthHeaders:
		if !has[fieldHeaders] {
			bad("custom_headers", "give at least one header")
		}
	default:
		bad("auth_type", "must be none, oauth2, api_key or custom_headers")
	}
	for field, address := range map[string]string{"oauth2_auth_url": s.OAuth2AuthURL, "oauth2_token_url": s.OAuth2TokenURL} {
		if why := badURL(address, false); why != "" {
			bad(field, why)
		}
	}
	return v
}

func validateSecrets(s *chat.MCPServer, f Fields) []chat.Validation {
	var v []chat.Validation
	bad := func(field, detail string) { v = append(v, chat.Validation{Field: field, Detail: detail}) }
	foreign := func(secret *chat.Secret, auth string) bool {
		return secret != nil && secret.Set() && s.AuthType != auth
	}
	if foreign(f.OAuth2ClientSecret, chat.MCPAuthOAuth2) {
		bad("oauth2_client_secret", "only for auth_type oauth2")
	}
	if foreign(f.APIKeyValue, chat.MCPAuthAPIKey) {
		bad("api_key_value", "only for auth_type api_key")
	}
	for field, secret := range map[string]*chat.Secret{"oauth2_client_secret": f.OAuth2ClientSecret, "api_key_value": f.APIKeyValue} {
		if secret != nil && !headerValue(secret.Reveal()) {
			bad(field, "visible ASCII characters, at most 8 KiB")
		}
	}
	if f.CustomHeaders == nil {
		return v
	}
	if len(*f.CustomHeaders) > 0 && s.AuthType != chat.MCPAuthHeaders {
		bad("custom_headers", "only for auth_type custom_headers")
	}
	if len(*f.CustomHeaders) > maxHeaders {
		bad("custom_headers", fmt.Sprintf("at most %d", maxHeaders))
	}
	for name, value := range *f.CustomHeaders {
		if !headerForm().MatchString(name) || reserved[http.CanonicalHeaderKey(name)] || !headerValue(value.Reveal()) || !value.Set() {
			bad("custom_headers", "each has a name that the protocol does not use itself, and a value of visible ASCII characters")
			break
		}
	}
	return v
}

func badURL(address string, needed bool) string {
	if address == "" && !needed {
		return ""
	}
	u, err := url.Parse(address)
	switch {
	case err != nil, len(address) > maxURL, u.Host == "", u.Hostname() == "", u.Scheme != "http" && u.Scheme != "https":
		return "an address that begins with http:// or https://"
	case u.User != nil:
		return "leave name and password out of the address"
	case u.Fragment != "":
		return "without #"
	}
	return ""
}

func headerValue(text string) bool {
	if len(text) > maxSecret || strings.TrimSpace(text) != text {
		return false
	}
	for _, b := range []byte(text) {
		if b < ' ' || b > '~' {
			return false
		}
	}
	return true
}

func oneLine(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// refuse gives one KindInvalid Error for all fields, nil for none.
func refuse(v []chat.Validation) error {
	if len(v) == 0 {
		return nil
	}
	return &chat.Error{Kind: chat.KindInvalid, Message: "The request is not valid.", Detail: v[0].Field + ": " + v[0].Detail, Validations: v}
}
