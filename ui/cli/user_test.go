package cli_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"holdfast/ui/api/apitest"
)

// login posts a form to the sign-in page and gives the status.
func login(t *testing.T, a *apitest.Appliance, form url.Values) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL+"/login", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	return res.StatusCode
}

func TestPeopleAreManagedInTheShell(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{})
	user := func(in string, args ...string) (int, string, string) {
		t.Helper()
		return run(t.Context(), in, "user", append(args, "--data", a.Dir)...)
	}
	done := func(in string, args ...string) string {
		t.Helper()
		code, out, failure := user(in, args...)
		if code != 0 || failure != "" {
			t.Fatalf("user %v: exit %d, %q, %q", args, code, out, failure)
		}
		return out
	}
	out := done("", "add", "Jo Doe")
	if !strings.HasPrefix(out, a.URL+"/login?code=") || strings.Count(out, "\n") != 1 {
		t.Errorf("add printed %q", out)
	}
	if got := login(t, a, url.Values{"code": {strings.TrimSpace(out)}}); got != http.StatusSeeOther {
		t.Errorf("the link that was printed: %d", got)
	}
	var made struct{ ID, Name, Role, URL string }
	if err := json.Unmarshal([]byte(done("", "add", "al", "--role", "admin", "--json")), &made); err != nil || made.Name != "al" || made.Role != "admin" || made.URL == "" || made.ID == "" {
		t.Errorf("add --json: %+v, %v", made, err)
	}
	if code, _, failure := user("", "add", "JO doe"); code != 2 || !strings.Contains(failure, "name") {
		t.Errorf("add again: exit %d, %q", code, failure)
	}
	done("four small words here\n", "password", "jo doe")
	if got := login(t, a, url.Values{"name": {"jo doe"}, "password": {"four small words here"}}); got != http.StatusSeeOther {
		t.Errorf("signing in with the password: %d", got)
	}
	if code, _, failure := user("short\n", "password", "jo doe"); code != 2 || !strings.Contains(failure, "10 characters") {
		t.Errorf("a weak password: exit %d, %q", code, failure)
	}
	done("", "role", "Jo Doe", "admin")
	done("", "disable", "Jo Doe")
	list := done("", "list")
	if !strings.Contains(list, "Jo Doe  admin  disabled  set") || !strings.Contains(list, "owner   admin  enabled   none") {
		t.Errorf("list:\n%s", list)
	}
	if got := login(t, a, url.Values{"name": {"jo doe"}, "password": {"four small words here"}}); got != http.StatusUnauthorized {
		t.Errorf("signing in while disabled: %d", got)
	}
	done("", "enable", "Jo Doe")
	done("", "password", "Jo Doe", "--none")
	if list := done("", "list", "--json"); !strings.Contains(list, `"has_password":false`) || strings.Contains(list, `"has_password":true`) {
		t.Errorf("list --json: %s", list)
	}
	if code, _, failure := user("", "remove", "Jo Doe", "--yes"); code != 1 || !strings.Contains(failure, "not disabled") {
		t.Errorf("remove too early: exit %d, %q", code, failure)
	}
	done("", "disable", "Jo Doe")
	done("", "remove", "Jo Doe", "--yes")
	if list := done("", "list"); strings.Contains(list, "Jo") {
		t.Errorf("after removing:\n%s", list)
	}
}
