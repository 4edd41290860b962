package search

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"holdfast/engine/chat"
)

func TestParse(t *testing.T) {
	tests := map[string]Query{
		"":                                   {},
		"Tide table":                         {Words: []string{"table", "tide"}},
		"tide tid tide":                      {Words: []string{"tide"}},
		"foo.bar":                            {Words: []string{"bar", "foo"}},
		"parseHTTPHeader":                    {Words: []string{"parsehttpheader"}},
		"漢字学 字":                              {Words: []string{"字学", "漢字"}},
		"archived:true x":                    {Words: []string{"x"}, Archived: true},
		"archived:false":                     {},
		"has:unread status:running":          {Unread: true, State: chat.Running},
		"workspace:w1 label:a=b label:c=d=e": {Workspace: "w1", Labels: map[string]string{"a": "b", "c": "d=e"}},
		`label:team="red tide" go`:           {Words: []string{"go"}, Labels: map[string]string{"team": "red tide"}},
		"label:k=":                           {Labels: map[string]string{"k": ""}},
		"http://host:80":                     {Words: []string{"80", "host", "http"}},
		"+++ ?":                              {Blank: true},
		`""`:                                 {Blank: true},
		`"open quote`:                        {Words: []string{"open", "quote"}},
		"a\u3000b\tc\nd":                     {Words: []string{"a", "b", "c", "d"}},
	}
	for text, want := range tests {
		got, err := Parse(text)
		if want.Labels == nil {
			want.Labels = map[string]string{}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"archived:maybe", "has:wings", "status:asleep", "label:k", "label:=v", strings.Repeat("a b c d e f g h i ", 2) + "j k l m n o p q"} {
		_, err := Parse(text)
		var refused *chat.Error
		if !errors.As(err, &refused) || refused.Kind != chat.KindInvalid || refused.Validations[0].Field != "q" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a b", "label:x=y", `label:"a b"=c`, "has:unread status:error 漢字", "archived:true"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := Parse(s)
		if err != nil {
			return
		}
		if len(q.Words) > maxWords || q.Blank && len(q.Words) > 0 {
			t.Errorf("%q: %+v", s, q)
		}
		for i, w := range q.Words {
			if w == "" || i > 0 && (w <= q.Words[i-1] || strings.HasPrefix(w, q.Words[i-1])) {
				t.Errorf("%q: words %q", s, q.Words)
			}
		}
	})
}
