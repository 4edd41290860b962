package api_test

import (
	"errors"
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
)

func TestHealthIsForAdmins(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	h, err := a.Client.Health(t.Context())
	if err != nil || h.State != "ok" || h.StoreBytes == 0 || h.DiskFree == nil || len(h.Damages) != 0 {
		t.Errorf("%+v, %v", h, err)
	}
	_, token := a.AddUser(t, "other", chat.UserMember)
	var refused *chat.Error
	if _, err := a.As(t, token).Health(t.Context()); !errors.As(err, &refused) || refused.Kind != chat.KindForbidden {
		t.Errorf("a member: %v", err)
	}
}
