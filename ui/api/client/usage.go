package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/engine/chat"
)

// Totals add up model calls. TotalCostMicros is null where there were calls and none had a price, 0 where it was free; calls without
// a price add nothing to it. Reasoning is part of the output, what was read from a cache part of the input.
type Totals struct {
	TotalCostMicros *int64 `json:"total_cost_micros"`
	Requests        int64  `json:"request_count"`
	Unpriced        int64  `json:"unpriced_request_count"`
	InputTokens     int64  `json:"input_tokens"`
	OutputTokens    int64  `json:"output_tokens"`
	ReasoningTokens int64  `json:"reasoning_tokens"`
	CacheReadTokens int64  `json:"cache_read_tokens"`
	RuntimeMS       int64  `json:"runtime_ms"`
}

// LineTotals are those of one model and one kind of call: turn, advisor, compaction, classifier, title or summary.
type LineTotals struct {
	ModelConfigID chat.ModelConfigID `json:"model_config_id"`
	Model         string             `json:"model"`
	Kind          string             `json:"kind"`
	Totals        Totals             `json:"totals"`
}

// ChatCost is what a root Chat and all Chats below it used.
type ChatCost struct {
	RootChatID chat.ID      `json:"root_chat_id"`
	Totals     Totals       `json:"totals"`
	Lines      []LineTotals `json:"lines"`
}

// CostSummary is what one person used from one day to another, both included, in UTC. From and To are "" where none was asked for.
type CostSummary struct {
	UserID chat.UserID   `json:"user_id"`
	From   string        `json:"from,omitempty"`
	To     string        `json:"to,omitempty"`
	Totals Totals        `json:"totals"`
	Models []ModelTotals `json:"by_model"`
	Days   []DayTotals   `json:"by_day"`
	// Chats are the largest 200; ChatsLeftOut is how many more there are.
	Chats        []ChatTotals `json:"by_chat"`
	ChatsLeftOut int          `json:"chats_left_out"`
}

// ModelTotals are those of one model.
type ModelTotals struct {
	ModelConfigID chat.ModelConfigID `json:"model_config_id"`
	Model         string             `json:"model"`
	Totals        Totals             `json:"totals"`
}

// DayTotals are those of one day.
type DayTotals struct {
	Day    string       `json:"day"`
	Totals Totals       `json:"totals"`
	Lines  []LineTotals `json:"lines"`
}

// ChatTotals are those of a root Chat. Title is "" for others than its owner; Deleted ones stay counted.
type ChatTotals struct {
	RootChatID chat.ID `json:"root_chat_id"`
	Title      string  `json:"title"`
	Deleted    bool    `json:"deleted"`
	Totals     Totals  `json:"totals"`
}

// CostUsers is a page of people, by id.
type CostUsers struct {
	Users   []UserTotals `json:"users"`
	HasMore bool         `json:"has_more"`
}

// UserTotals are those of one person.
type UserTotals struct {
	UserID chat.UserID `json:"user_id"`
	Name   string      `json:"name"`
	Totals Totals      `json:"totals"`
}

// UsageLimit is what may be used in a period (day, week or month; "" is month). -1, or leaving it out, is no limit.
type UsageLimit struct {
	Period      string `json:"period"`
	LimitMicros *int64 `json:"limit_micros,omitempty"`
	LimitTokens *int64 `json:"limit_tokens,omitempty"`
}

// UsageLimits are the limits of the site. A person's own one counts, else that of the role, else Default.
type UsageLimits struct {
	Default *UsageLimit           `json:"default,omitempty"`
	Roles   map[string]UsageLimit `json:"roles"`
	Users   map[string]UsageLimit `json:"users"`
}

// CostQuery asks for days, 2006-01-02 or a time in them, "" for no bound. Limit and AfterID page the list of people.
type CostQuery struct {
	From, To string
	Limit    int
	AfterID  chat.UserID
}

func (q CostQuery) values() url.Values {
	v := url.Values{}
	for name, value := range map[string]string{"from": q.From, "to": q.To, "after_id": string(q.AfterID)} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// ChatCost gives what a Chat's whole family used.
func (c *Client) ChatCost(ctx context.Context, id chat.ID) (ChatCost, error) {
	var out ChatCost
	return out, c.call(ctx, http.MethodGet, "/chats/"+url.PathEscape(string(id))+"/cost", nil, nil, &out)
}

// CostSummary gives what a person used; "" is oneself.
func (c *Client) CostSummary(ctx context.Context, user chat.UserID, q CostQuery) (CostSummary, error) {
	if user == "" {
		user = "me"
	}
	var out CostSummary
	return out, c.call(ctx, http.MethodGet, "/chats/cost/"+url.PathEscape(string(user))+"/summary", q.values(), nil, &out)
}

// CostUsers gives what each person used (admin).
func (c *Client) CostUsers(ctx context.Context, q CostQuery) (CostUsers, error) {
	var out CostUsers
	return out, c.call(ctx, http.MethodGet, "/chats/cost/users", q.values(), nil, &out)
}

// UsageLimits gives the limits of the site.
func (c *Client) UsageLimits(ctx context.Context) (UsageLimits, error) {
	var out UsageLimits
	return out, c.call(ctx, http.MethodGet, "/chats/config/usage-limits", nil, nil, &out)
}

// SetUsageLimits replaces the limits of the site (admin).
func (c *Client) SetUsageLimits(ctx context.Context, in UsageLimits) error {
	return c.call(ctx, http.MethodPut, "/chats/config/usage-limits", nil, in, nil)
}
