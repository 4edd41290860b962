package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/engine/chat"
)

// Notification is what finished, failed or waited for a person. IDs grow with time.
type Notification struct {
	ID        int64           `json:"id"`
	ChatID    chat.ID         `json:"chat_id"`
	Kind      chat.NoticeKind `json:"kind"`
	Title     string          `json:"title"`
	Body      string          `json:"body"`
	URL       string          `json:"url"`
	CreatedAt Time            `json:"created_at"`
	Read      bool            `json:"read"`
}

// Notifications are some of a person's; Unread counts all of the hundred that are kept.
type Notifications struct {
	Notifications []Notification `json:"notifications"`
	HasMore       bool           `json:"has_more"`
	Unread        int            `json:"unread"`
}

// NotificationsRead names the newest Notification of those that were read, or one of them.
type NotificationsRead struct {
	UpTo int64 `json:"up_to,omitempty"`
	ID   int64 `json:"id,omitempty"`
}

// NotificationSettings say of which kinds a person is told.
type NotificationSettings struct {
	Finished       bool `json:"finished"`
	Failed         bool `json:"failed"`
	ActionRequired bool `json:"action_required"`
}

// NotificationSettingsUpdate replaces them; nil is on.
type NotificationSettingsUpdate struct {
	Finished       *bool `json:"finished,omitempty"`
	Failed         *bool `json:"failed,omitempty"`
	ActionRequired *bool `json:"action_required,omitempty"`
}

// Subscription is a browser or a webhook that Notifications reach.
type Subscription struct {
	ID        chat.PushID   `json:"id"`
	Kind      chat.PushKind `json:"kind"`
	Name      string        `json:"name"`
	Host      string        `json:"host"`
	CreatedAt Time          `json:"created_at"`
	LastOK    *Time         `json:"last_ok"`
	// Failed says why the last try failed, Failures how many did since the last success.
	Failed   string `json:"failed,omitempty"`
	Failures int    `json:"failures"`
	// Secret signs what a new webhook gets; it is shown this once.
	Secret string `json:"secret,omitempty"`
}

// Subscriptions are a person's. PublicKey is what a browser subscribes with at its push service.
type Subscriptions struct {
	PublicKey     string            `json:"public_key"`
	OutboundMode  chat.OutboundMode `json:"outbound_mode"`
	Subscriptions []Subscription    `json:"subscriptions"`
}

// NewSubscription is a browser, with what its push service gave it, or a webhook with its URL.
type NewSubscription struct {
	Kind     chat.PushKind `json:"kind"`
	Name     string        `json:"name,omitempty"`
	Endpoint string        `json:"endpoint,omitempty"`
	P256dh   string        `json:"p256dh,omitempty"`
	Auth     string        `json:"auth,omitempty"`
	URL      string        `json:"url,omitempty"`
}

const (
	notifications = "/notifications"
	subscriptions = "/notifications/subscriptions"
)

// Notifications gives the newest, at most limit; 0 is 50.
func (c *Client) Notifications(ctx context.Context, limit int) (Notifications, error) {
	q := url.Values{}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	var out Notifications
	return out, c.call(ctx, http.MethodGet, notifications, q, nil, &out)
}

// NotificationsAfter gives those behind an id, oldest first.
func (c *Client) NotificationsAfter(ctx context.Context, id int64) (Notifications, error) {
	var out Notifications
	return out, c.call(ctx, http.MethodGet, notifications, url.Values{"after_id": {strconv.FormatInt(id, 10)}}, nil, &out)
}

// ReadNotifications marks those up to an id as read.
func (c *Client) ReadNotifications(ctx context.Context, upTo int64) error {
	return c.call(ctx, http.MethodPost, notifications+"/read", nil, NotificationsRead{UpTo: upTo}, nil)
}

// ReadNotification marks one as read.
func (c *Client) ReadNotification(ctx context.Context, id int64) error {
	return c.call(ctx, http.MethodPost, notifications+"/read", nil, NotificationsRead{ID: id}, nil)
}

// NotificationSettings says of what the caller is told.
func (c *Client) NotificationSettings(ctx context.Context) (NotificationSettings, error) {
	var out NotificationSettings
	return out, c.call(ctx, http.MethodGet, notifications+"/settings", nil, nil, &out)
}

// UpdateNotificationSettings replaces that.
func (c *Client) UpdateNotificationSettings(ctx context.Context, in NotificationSettingsUpdate) error {
	return c.call(ctx, http.MethodPut, notifications+"/settings", nil, in, nil)
}

// Subscriptions gives the caller's browsers and webhooks.
func (c *Client) Subscriptions(ctx context.Context) (Subscriptions, error) {
	var out Subscriptions
	return out, c.call(ctx, http.MethodGet, subscriptions, nil, nil, &out)
}

// Subscribe adds a browser or a webhook.
func (c *Client) Subscribe(ctx context.Context, in NewSubscription) (Subscription, error) {
	var out Subscription
	return out, c.call(ctx, http.MethodPost, subscriptions, nil, in, &out)
}

// Unsubscribe removes one.
func (c *Client) Unsubscribe(ctx context.Context, id chat.PushID) error {
	return c.call(ctx, http.MethodDelete, subscriptions+"/"+url.PathEscape(string(id)), nil, nil, nil)
}

// TrySubscription sends a Notification to one now.
func (c *Client) TrySubscription(ctx context.Context, id chat.PushID) (Subscription, error) {
	var out Subscription
	return out, c.call(ctx, http.MethodPost, subscriptions+"/"+url.PathEscape(string(id))+"/try", nil, nil, &out)
}
