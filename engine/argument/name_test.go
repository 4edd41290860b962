package argument_test

import (
	"testing"

	"holdfast/engine/argument"
)

func TestMatch(t *testing.T) {
	names := []string{"read_file", "write_file", "files__Read", "a-b", "a_b", "Exact", "exact"}
	cases := []struct {
		name, want string
		ok         bool
	}{
		{"read_file", "read_file", true},
		{"Read-File", "read_file", true},
		{"FILES--READ", "files__Read", true},
		{"a-b", "a-b", true},
		{"A-B", "", false},
		{"Exact", "Exact", true},
		{"EXACT", "", false},
		{"read_fil", "", false},
		{"", "", false},
	}
	for _, c := range cases {
		if got, ok := argument.Match(c.name, names); got != c.want || ok != c.ok {
			t.Errorf("Match(%q) = %q, %v; want %q, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}
