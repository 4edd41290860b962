package chat

import "strings"

// PlainName reports whether s has 1 to 64 letters, digits, - and _, as names of Tools and ids of processes do.
func PlainName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, plainLetters) == ""
}

const plainLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
