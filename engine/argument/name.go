package argument

import "strings"

// Match gives the one of names that a model meant by name: the equal one, else the only one that is equal without regard to case
// and with - and _ taken as the same. ok is false when there is none or more than one.
func Match(name string, names []string) (match string, ok bool) {
	want, found := fold(name), 0
	for _, n := range names {
		if n == name {
			return n, true
		}
		if fold(n) == want {
			match, found = n, found+1
		}
	}
	if found != 1 {
		return "", false
	}
	return match, true
}

func fold(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "-", "_")
}
