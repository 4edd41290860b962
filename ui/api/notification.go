package api

import (
	"net/http"
	"slices"

	"holdfast/engine/chat"
	"holdfast/engine/notice"
	"holdfast/ui/api/client"
)

func (a *API) notificationEndpoints() []endpoint {
	const all, settings, subscriptions = "/notifications", "/notifications/settings", "/notifications/subscriptions"
	return []endpoint{
		{method: http.MethodGet, path: all, summary: "List what finished, failed or waited for the caller: the newest first, or ascending behind after_id.", query: []parameter{
			{name: "limit", describes: "1 to 200, else 50.", integer: true}, {name: "after_id", describes: "Only those behind this id, ascending.", integer: true},
			{name: "before_id", describes: "Go on below this id.", integer: true}},
			handler: answer(a, http.StatusOK, a.notifications), out: map[int]any{http.StatusOK: client.Notifications{}}},
		{method: http.MethodPost, path: all + "/read", summary: "Mark the caller's notifications as read: all up to an id, or one.", in: client.NotificationsRead{},
			handler: answer(a, http.StatusNoContent, a.readNotifications), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodGet, path: settings, summary: "Get of what the caller is told, by pages and by what they have subscribed.",
			handler: answer(a, http.StatusOK, a.notificationSettings), out: map[int]any{http.StatusOK: client.NotificationSettings{}}},
		{method: http.MethodPut, path: settings, summary: "Replace it; what is left out is on.", in: client.NotificationSettingsUpdate{},
			handler: answer(a, http.StatusNoContent, a.setNotificationSettings), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodGet, path: subscriptions, summary: "List the browsers and webhooks that the caller's notifications reach.",
			handler: answer(a, http.StatusOK, a.subscriptions), out: map[int]any{http.StatusOK: client.Subscriptions{}}},
		{method: http.MethodPost, path: subscriptions, summary: "Subscribe a browser (endpoint, p256dh, auth) or a webhook (url); the answer for a webhook has its secret, this once.",
			in: client.NewSubscription{}, handler: answer(a, http.StatusCreated, a.subscribe), out: map[int]any{http.StatusCreated: client.Subscription{}}},
		{method: http.MethodDelete, path: subscriptions + "/{id}", summary: "Remove a browser or webhook.",
			handler: answer(a, http.StatusNoContent, a.unsubscribe), out: map[int]any{http.StatusNoContent: nil}},
		{method: http.MethodPost, path: subscriptions + "/{id}/try", summary: "Send a notification to it now; failed says why it did not arrive.",
			handler: answer(a, http.StatusOK, a.trySubscription), out: map[int]any{http.StatusOK: client.Subscription{}}},
	}
}

func (a *API) notifications(q *request, _ none) (client.Notifications, error) {
	limit, err := q.limit()
	if err != nil {
		return client.Notifications{}, err
	}
	after, ascending, err := q.position("after_id")
	if err != nil {
		return client.Notifications{}, err
	}
	before, bounded, err := q.position("before_id")
	if err != nil {
		return client.Notifications{}, err
	}
	if ascending && bounded && after >= before {
		return client.Notifications{}, chat.Invalid("after_id", "must be smaller than before_id")
	}
	list, err := a.o.Notices.List(q.ctx(), q.who, notice.ListInput{After: int64(after), Before: int64(before), Ascending: ascending, Limit: limit})
	out := client.Notifications{Notifications: make([]client.Notification, 0, len(list.Notices)), HasMore: list.HasMore, Unread: list.Unread}
	for _, n := range list.Notices {
		out.Notifications = append(out.Notifications, client.Notification{ID: n.Number, ChatID: n.Chat, Kind: n.Kind, Title: n.Title, Body: n.Body,
			URL: chat.Notice{Chat: n.Chat}.URL(), CreatedAt: client.At(n.At), Read: n.Read})
	}
	return out, err
}

func (a *API) readNotifications(q *request, in client.NotificationsRead) (none, error) {
	_, err := a.o.Notices.Read(q.ctx(), q.who, notice.ReadInput{UpTo: in.UpTo, Number: in.ID})
	return none{}, err
}

func (a *API) notificationSettings(q *request, _ none) (client.NotificationSettings, error) {
	muted, err := a.o.Notices.Muted(q.ctx(), q.who, notice.MutedInput{})
	on := func(k chat.NoticeKind) bool { return !slices.Contains(muted, k) }
	return client.NotificationSettings{Finished: on(chat.NoticeFinished), Failed: on(chat.NoticeFailed), ActionRequired: on(chat.NoticeActionRequired)}, err
}

func (a *API) setNotificationSettings(q *request, in client.NotificationSettingsUpdate) (none, error) {
	var kinds []chat.NoticeKind
	for _, x := range []struct {
		kind chat.NoticeKind
		on   *bool
	}{{chat.NoticeFinished, in.Finished}, {chat.NoticeFailed, in.Failed}, {chat.NoticeActionRequired, in.ActionRequired}} {
		if x.on != nil && !*x.on {
			kinds = append(kinds, x.kind)
		}
	}
	_, err := a.o.Notices.Mute(q.ctx(), q.who, notice.MuteInput{Kinds: kinds})
	return none{}, err
}

func (a *API) subscriptions(q *request, _ none) (client.Subscriptions, error) {
	r, err := a.o.Notices.Reached(q.ctx(), q.who, notice.ReachedInput{})
	out := client.Subscriptions{PublicKey: r.PublicKey, OutboundMode: r.Mode, Subscriptions: make([]client.Subscription, 0, len(r.All))}
	for _, s := range r.All {
		out.Subscriptions = append(out.Subscriptions, subscription(s))
	}
	return out, err
}

func (a *API) subscribe(q *request, in client.NewSubscription) (client.Subscription, error) {
	switch in.Kind {
	case chat.PushBrowser:
		s, err := a.o.Notices.Subscribe(q.ctx(), q.who, notice.SubscribeInput{Name: in.Name, Endpoint: in.Endpoint, P256dh: in.P256dh, Auth: in.Auth})
		return subscription(s), err
	case chat.PushHook:
		h, err := a.o.Notices.AddHook(q.ctx(), q.who, notice.AddHookInput{Name: in.Name, URL: in.URL})
		out := subscription(h.Subscription)
		out.Secret = h.Secret
		return out, err
	}
	return client.Subscription{}, chat.Invalid("kind", "must be browser or webhook")
}

func (a *API) unsubscribe(q *request, _ none) (none, error) {
	_, err := a.o.Notices.Remove(q.ctx(), q.who, notice.RemoveInput{ID: chat.PushID(q.http.PathValue("id"))})
	return none{}, err
}

func (a *API) trySubscription(q *request, _ none) (client.Subscription, error) {
	s, err := a.o.Notices.Try(q.ctx(), q.who, notice.TryInput{ID: chat.PushID(q.http.PathValue("id"))})
	return subscription(s), err
}

func subscription(s notice.Subscription) client.Subscription {
	return client.Subscription{ID: s.ID, Kind: s.Kind, Name: s.Name, Host: s.Host, CreatedAt: client.At(s.CreatedAt), LastOK: client.AtOrNil(s.LastOK), Failed: s.Failed,
		Failures: s.Failures}
}
