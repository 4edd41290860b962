package gate

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
)

var decodesItself = reflect.TypeFor[json.Unmarshaler]()

// exact refuses what the decoder takes in silence: a field that is there twice, of which it keeps the last, and one in other case. What is free in
// its shape, as a tool's arguments are, is not looked into. Text that is no JSON is the decoder's business.
func exact(b []byte, into any) error {
	err := (&look{text: b}).value(reflect.TypeOf(into), "")
	if errors.Is(err, errDecoders) {
		return nil
	}
	return err
}

// errDecoders ends the look at what the decoder refuses anyway.
var errDecoders = errors.New("what the decoder refuses")

// deepest is how far the decoder follows values in values.
const deepest = 10000

// look walks through a text beside its type. It reads only as much of JSON as that takes; the decoder reads all of it afterwards.
type look struct {
	text []byte
	deep int
}

// next gives the first byte that is no white space, 0 at the end.
func (l *look) next() byte {
	for len(l.text) > 0 {
		switch c := l.text[0]; c {
		case ' ', '\t', '\r', '\n':
			l.text = l.text[1:]
		default:
			return c
		}
	}
	return 0
}

// eat takes that byte if it is c.
func (l *look) eat(c byte) bool {
	if l.next() != c {
		return false
	}
	l.text = l.text[1:]
	return true
}

func (l *look) value(t reflect.Type, at string) error {
	for t.Kind() == reflect.Pointer && !t.Implements(decodesItself) {
		t = t.Elem()
	}
	fixed := t.Kind() == reflect.Struct || t.Kind() == reflect.Slice || t.Kind() == reflect.Map
	if !fixed || t.Implements(decodesItself) || reflect.PointerTo(t).Implements(decodesItself) {
		return l.skip()
	}
	if l.deep++; l.deep > deepest {
		return errDecoders
	}
	defer func() { l.deep-- }()
	switch l.next() {
	case '{':
		return l.object(t, at)
	case '[':
		return l.list(t, at)
	}
	return l.skip()
}

func (l *look) list(t reflect.Type, at string) error {
	if t.Kind() != reflect.Slice || !l.eat('[') {
		return errDecoders
	}
	if l.eat(']') {
		return nil
	}
	for {
		if err := l.value(t.Elem(), at); err != nil {
			return err
		}
		if l.eat(']') {
			return nil
		}
		if !l.eat(',') {
			return errDecoders
		}
	}
}

func (l *look) object(t reflect.Type, at string) error {
	if t.Kind() == reflect.Slice || !l.eat('{') {
		return errDecoders
	}
	if l.eat('}') {
		return nil
	}
	var seen names
	for {
		name, err := l.name()
		if err != nil {
			return err
		}
		where := name
		if at != "" {
			where = at + "." + name
		}
		if !seen.add(name) {
			return chat.Invalid(where, "is there twice")
		}
		inner, err := innerOf(t, name, where)
		if err != nil {
			return err
		}
		if err := l.value(inner, where); err != nil {
			return err
		}
		if l.eat('}') {
			return nil
		}
		if !l.eat(',') {
			return errDecoders
		}
	}
}

// names are those of one object. Most have few; a hostile one has as many as a request has room for.
type names struct {
	few  [8]string
	n    int
	many map[string]bool
}

// add is false for a name that is there.
func (s *names) add(name string) bool {
	if slices.Contains(s.few[:s.n], name) || s.many[name] {
		return false
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return true
	}
	if s.many == nil {
		s.many = map[string]bool{}
	}
	s.many[name] = true
	return true
}

// innerOf is the type of what stands under a name.
func innerOf(t reflect.Type, name, where string) (reflect.Type, error) {
	if t.Kind() == reflect.Map {
		return t.Elem(), nil
	}
	inner, spelled := fieldOf(t, name)
	if inner == nil {
		return nil, errDecoders
	}
	if spelled != name {
		return nil, chat.Invalid(where, "is written "+spelled)
	}
	return inner, nil
}

// name takes a name and the colon behind it.
func (l *look) name() (string, error) {
	if l.next() != '"' {
		return "", errDecoders
	}
	quoted, err := l.quoted()
	if err != nil || !l.eat(':') {
		return "", errDecoders
	}
	for _, c := range quoted {
		if c != '\\' && c < utf8.RuneSelf {
			continue
		}
		var name string
		if json.Unmarshal(quoted, &name) != nil {
			return "", errDecoders
		}
		return name, nil
	}
	return string(quoted[1 : len(quoted)-1]), nil
}

// quoted takes a string, with its quotes.
func (l *look) quoted() ([]byte, error) {
	for i := 1; i < len(l.text); i++ {
		switch l.text[i] {
		case '\\':
			i++
		case '"':
			s := l.text[:i+1]
			l.text = l.text[i+1:]
			return s, nil
		}
	}
	return nil, errDecoders
}

// skip takes a value of any kind.
func (l *look) skip() error {
	open := 0
	for {
		switch l.next() {
		case 0:
			return errDecoders
		case '"':
			if _, err := l.quoted(); err != nil {
				return err
			}
		case '{', '[':
			open++
			l.text = l.text[1:]
			continue
		case '}', ']':
			if open--; open < 0 {
				return errDecoders
			}
			l.text = l.text[1:]
		case ',', ':':
			if open == 0 {
				return errDecoders
			}
			l.text = l.text[1:]
			continue
		default:
			l.text = l.text[scalar(l.text):]
		}
		if open == 0 {
			return nil
		}
	}
}

// scalar is how long the number or word at the front is.
func scalar(b []byte) int {
	for i, c := range b {
		switch c {
		case ' ', '\t', '\r', '\n', ',', ':', '"', '{', '}', '[', ']':
			return i
		}
	}
	return len(b)
}

// fieldOf gives the type of a field, by its name or else in other case, and how it is written; nil for none.
func fieldOf(t reflect.Type, name string) (found reflect.Type, spelled string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			of := f.Type
			if of.Kind() == reflect.Pointer {
				of = of.Elem()
			}
			if of.Kind() != reflect.Struct {
				continue
			}
			inner, written := fieldOf(of, name)
			if written == name {
				return inner, written
			}
			if inner != nil {
				found, spelled = inner, written
			}
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		if tag == name {
			return f.Type, tag
		}
		if strings.EqualFold(tag, name) {
			found, spelled = f.Type, tag
		}
	}
	return found, spelled
}
