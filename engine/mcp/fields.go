package mcp

import (
	"strings"

	"holdfast/engine/chat"
)

// Fields are what an admin sets of a server; nil ones keep their value. An empty secret is cleared.
type Fields struct {
	Slug        *string
	DisplayName *string
	Description *string
	Icon        *string
	Transport   *string
	URL         *string

	AuthType           *string
	OAuth2ClientID     *string
	OAuth2ClientSecret *chat.Secret
	OAuth2AuthURL      *string
	OAuth2TokenURL     *string
	OAuth2Scopes       *string
	APIKeyHeader       *string
	APIKeyValue        *chat.Secret
	// CustomHeaders replaces all headers; an empty map clears them.
	CustomHeaders *map[string]chat.Secret

	ToolAllowList   *[]string
	ToolDenyList    *[]string
	ReadOnlyTools   *[]string
	AllowInPlanMode *bool
	Availability    *string
	Enabled         *bool
}

// apply sets the fields that are no secrets.
func (f Fields) apply(s *chat.MCPServer) {
	text := func(to *string, from *string) {
		if from != nil {
			*to = strings.TrimSpace(*from)
		}
	}
	list := func(to *[]string, from *[]string) {
		if from == nil {
			return
		}
		*to = nil
		for _, name := range *from {
			if name = strings.TrimSpace(name); name != "" {
				*to = append(*to, name)
			}
		}
	}
	flag := func(to *bool, from *bool) {
		if from != nil {
			*to = *from
		}
	}
	text(&s.Slug, f.Slug)
	text(&s.DisplayName, f.DisplayName)
	text(&s.Description, f.Description)
	text(&s.Icon, f.Icon)
	text(&s.Transport, f.Transport)
	text(&s.URL, f.URL)
	text(&s.AuthType, f.AuthType)
	text(&s.OAuth2ClientID, f.OAuth2ClientID)
	text(&s.OAuth2AuthURL, f.OAuth2AuthURL)
	text(&s.OAuth2TokenURL, f.OAuth2TokenURL)
	text(&s.OAuth2Scopes, f.OAuth2Scopes)
	text(&s.APIKeyHeader, f.APIKeyHeader)
	text(&s.Availability, f.Availability)
	list(&s.ToolAllowList, f.ToolAllowList)
	list(&s.ToolDenyList, f.ToolDenyList)
	list(&s.ReadOnlyTools, f.ReadOnlyTools)
	flag(&s.AllowInPlanMode, f.AllowInPlanMode)
	flag(&s.Enabled, f.Enabled)
}

// complete fills in what has a default.
func complete(s *chat.MCPServer) {
	fill := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	fill(&s.Transport, chat.MCPStreamableHTTP)
	fill(&s.AuthType, chat.MCPAuthNone)
	fill(&s.Availability, chat.MCPDefaultOff)
	fill(&s.DisplayName, s.Slug)
	if s.AuthType == chat.MCPAuthAPIKey {
		fill(&s.APIKeyHeader, "Authorization")
	}
}
