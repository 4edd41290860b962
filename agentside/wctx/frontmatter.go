package wctx

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"holdfast/engine/chat"
)

// meta is what the front matter of a skill says.
type meta struct {
	name, description string
	// warning says what of it was cut.
	warning string
}

// maxFront is how large front matter may be.
const maxFront = 64 << 10

var skillName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) })

// parseSkill reads the front matter of a skill file whose directory has the name base. No error quotes the file.
func parseSkill(file []byte, base string) (meta, error) {
	front, err := fence(string(file))
	if err != nil {
		return meta{}, err
	}
	fields, err := frontFields(front)
	if err != nil {
		return meta{}, err
	}
	m := meta{name: fields["name"], description: fields["description"]}
	switch {
	case m.name == "":
		return m, errors.New("the front matter has no name")
	case m.name != base:
		return meta{}, errors.New("the name in the front matter is not that of the directory")
	case !skillName().MatchString(m.name):
		return meta{}, errors.New("the name must be of a-z, 0-9 and single hyphens between them")
	case len(m.name) > chat.MaxResourceName:
		return meta{}, errors.New("the name is longer than 64 bytes")
	}
	if cut, was := clipRunes(m.description, chat.MaxDescriptionRune); was {
		m.description, m.warning = cut, "the description was cut to 1024 characters"
	}
	return m, nil
}

// fence gives what stands between the two lines of hyphens.
func fence(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("the file is not UTF-8")
	}
	text = strings.TrimPrefix(text, "\ufeff")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(first) != "---" {
		return "", errors.New("the file does not begin with front matter, which a line of three hyphens opens")
	}
	at := 0
	for line := range strings.Lines(rest) {
		if strings.TrimSpace(line) == "---" {
			return rest[:at], nil
		}
		at += len(line)
	}
	return "", errors.New("the front matter is not closed by a line of three hyphens")
}

// errFront says nothing of what the file holds.
var errFront = errors.New("the front matter is not valid YAML: a list of names with values is expected")

// frontFields reads the fields that we know. Parsing alone, without decoding, expands no aliases.
func frontFields(front string) (map[string]string, error) {
	if len(front) > maxFront {
		return nil, errors.New("the front matter is larger than 64 KiB")
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(front, "\r\n", "\n")), &doc); err != nil {
		return nil, errFront
	}
	fields := map[string]string{}
	if doc.Kind == 0 {
		return fields, nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errFront
	}
	if aliased(&doc) {
		return nil, errors.New("anchors and aliases are not taken in front matter")
	}
	pairs := doc.Content[0].Content
	seen := map[string]bool{}
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		if key.Kind != yaml.ScalarNode || seen[key.Value] {
			return nil, errors.New("the front matter has a key twice, or one that is no text")
		}
		seen[key.Value] = true
		if key.Value != "name" && key.Value != "description" {
			continue
		}
		if value.Kind != yaml.ScalarNode || value.ShortTag() != "!!str" {
			return nil, errors.New("the " + key.Value + " in the front matter is not a text")
		}
		fields[key.Value] = strings.TrimRight(value.Value, "\r\n")
	}
	return fields, nil
}

func aliased(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return true
	}
	for _, c := range n.Content {
		if aliased(c) {
			return true
		}
	}
	return false
}
