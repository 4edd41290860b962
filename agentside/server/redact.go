package server

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
)

// hiddenText stands where a value stood.
const hiddenText = "***"

// shortest is how long a value must be to be taken out: shorter ones are parts of ordinary words.
const shortest = 4

// secretNames are parts of the names of variables whose values are secrets.
var secretNames = []string{"TOKEN", "KEY", "SECRET", "PASS", "AUTH"}

// redactor takes values out of what is published.
type redactor struct{ values []string }

// redactorOf hides the values of an entry as they stand in it and as they were expanded, and the inherited secrets.
func redactorOf(e *entry, env, headers map[string]string, environ []string) redactor {
	var values []string
	add := func(v string) {
		values = append(values, v, url.QueryEscape(v), strings.TrimSpace(v))
	}
	for _, list := range []map[string]string{e.env, e.headers, env, headers} {
		for _, v := range list {
			add(v)
			// "Bearer x": the part behind the scheme is the secret.
			if _, rest, ok := strings.Cut(v, " "); ok {
				add(rest)
			}
		}
	}
	for _, arg := range e.args {
		add(arg)
		if _, v, ok := strings.Cut(arg, "="); ok {
			add(v)
		}
	}
	if u, err := url.Parse(e.url); err == nil && e.url != "" {
		add(u.RawQuery)
		add(u.Path)
		add(u.RequestURI())
		if u.User != nil {
			add(u.User.String())
			add(u.User.Username())
			if p, ok := u.User.Password(); ok {
				add(p)
			}
		}
		for _, list := range u.Query() {
			for _, v := range list {
				add(v)
			}
		}
	}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if isSecret(name) {
			add(value)
		}
	}
	values = slices.DeleteFunc(values, func(v string) bool { return len(v) < shortest })
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return redactor{slices.Compact(values)}
}

func isSecret(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(upper, part) })
}

// clean gives a text that can be published: without values, valid, and as long as the Error of a Resource may be.
func (r redactor) clean(text string) string {
	text = strings.ToValidUTF8(r.hide(text), "\uFFFD")
	if len(text) > chat.MaxResourceError {
		end := chat.MaxResourceError
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	return text
}

// hide takes the values out of a text.
func (r redactor) hide(text string) string {
	for _, v := range r.values {
		text = strings.ReplaceAll(text, v, hiddenText)
	}
	return text
}
