package model

import (
	"net/url"

	"holdfast/engine/chat"
)

// shownTo takes away what is not for this reader: to which host prompts go is everybody's business, the whole address of a server only
// that of admins.
func shownTo(p chat.Principal, c chat.ModelConfig) chat.ModelConfig {
	if u, err := url.Parse(c.BaseURL); err == nil {
		c.Host = u.Hostname()
	}
	if !p.Admin() {
		c.BaseURL = ""
	}
	return c
}

// shownAddress is an address of a server without name and password, for members without its path too. "" is one that cannot be read.
func shownAddress(p chat.Principal, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	if !p.Admin() {
		u.Path, u.RawPath = "", ""
	}
	return u.String()
}
