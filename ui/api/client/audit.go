package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/engine/chat"
)

// AuditRecord says who did what, when and from where.
type AuditRecord struct {
	// ID is the number of the record; it grows by one.
	ID int64 `json:"id"`
	At Time  `json:"at"`
	// UserID and UserName are left out where the appliance itself did it, or nobody who is known.
	UserID    chat.UserID    `json:"user_id,omitempty"`
	UserName  string         `json:"user_name,omitempty"`
	TokenID   chat.TokenID   `json:"token_id,omitempty"`
	SessionID chat.SessionID `json:"session_id,omitempty"`
	Source    string         `json:"source,omitempty"`
	RequestID string         `json:"request_id,omitempty"`
	// Action is the command, such as account.CreateUser, or sign_in, tool.run and others; Object the id of what it was done to.
	Action string `json:"action"`
	Object string `json:"object,omitempty"`
	// Failed: it ended with an error and may be half done.
	Failed bool              `json:"failed,omitempty"`
	Facts  map[string]string `json:"facts"`
	// SHA256 chains the record to the one before.
	SHA256 string `json:"sha256"`
}

// AuditPage is a part of the audit, the newest first. It goes on below BeforeID; it may be empty with HasMore, when much was looked at
// that does not fit.
type AuditPage struct {
	Records  []AuditRecord `json:"records"`
	HasMore  bool          `json:"has_more"`
	BeforeID int64         `json:"before_id"`
}

// AuditCheck says whether the chain holds: the ids of its ends, the hash of the newest, and what does not hold.
type AuditCheck struct {
	First  int64    `json:"first"`
	Last   int64    `json:"last"`
	Head   string   `json:"head"`
	Broken []string `json:"broken"`
}

// AuditQuery chooses records; zero fields choose all.
type AuditQuery struct {
	BeforeID int64
	Limit    int
	Group    string
	UserID   chat.UserID
}

// Audit lists records of the audit.
func (c *Client) Audit(ctx context.Context, q AuditQuery) (AuditPage, error) {
	v := url.Values{}
	for name, value := range map[string]string{"group": q.Group, "user_id": string(q.UserID), "before_id": above0(q.BeforeID), "limit": above0(int64(q.Limit))} {
		if value != "" {
			v.Set(name, value)
		}
	}
	var out AuditPage
	return out, c.call(ctx, http.MethodGet, "/audit", v, nil, &out)
}

// CheckAudit follows the chain, and holds it against a head from the log when number is above 0.
func (c *Client) CheckAudit(ctx context.Context, noted int64, sum string) (AuditCheck, error) {
	v := url.Values{}
	if noted > 0 {
		v = url.Values{"number": {above0(noted)}, "sha256": {sum}}
	}
	var out AuditCheck
	return out, c.call(ctx, http.MethodGet, "/audit/check", v, nil, &out)
}

// above0 writes n, "" for 0.
func above0(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
