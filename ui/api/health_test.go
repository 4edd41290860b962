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

func TestDoctorIsForAdmins(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	for _, deep := range []bool{false, true} {
		found, err := a.Client.Doctor(t.Context(), deep)
		if err != nil || len(found.Checks) < 2 || found.Checks[0].Name != "store" || found.Checks[0].State != "ok" {
			t.Errorf("%+v, %v", found, err)
		}
	}
	_, token := a.AddUser(t, "other", chat.UserMember)
	var refused *chat.Error
	if _, err := a.As(t, token).Bundle(t.Context()); !errors.As(err, &refused) || refused.Kind != chat.KindForbidden {
		t.Errorf("the bundle of a member: %v", err)
	}
	if _, err := a.Client.Bundle(t.Context()); err != nil {
		t.Errorf("the bundle of an admin: %v", err)
	}
	if _, err := a.As(t, token).Doctor(t.Context(), false); !errors.As(err, &refused) || refused.Kind != chat.KindForbidden {
		t.Errorf("a member: %v", err)
	}
}
