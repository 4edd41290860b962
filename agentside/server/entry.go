package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"holdfast/engine/chat"
)

// Transports of an entry.
const (
	Stdio = "stdio"
	HTTP  = "http"
	SSE   = "sse"
)

// Bounds of one entry.
const (
	maxEntries = 100
	maxText    = 4096
	maxList    = 200
)

// Config is a file that names servers, as it was read.
type Config struct {
	// Path is where it is, SourcePath the Source of a person that contributed it.
	Path, SourcePath string
	Content          []byte
}

// entry is one server as a config names it. Its fault, if it has one, names no value.
type entry struct {
	name, config, sourcePath string
	transport                string
	command                  string
	args                     []string
	env, headers             map[string]string
	dir, url                 string
	fault                    string
	// canonical is all of it in one form.
	canonical []byte
}

// written is an entry as JSON.
type written struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Dir     string            `json:"cwd"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z0-9._-]{1,64}\z`) })

// parse gives the entries of the configs; of two of one name the first counts. A config that is no object of objects has none: the
// Resource of the file says so.
func parse(configs []Config) []entry {
	var out []entry
	taken := map[string]bool{}
	for _, c := range configs {
		names, raws, err := members(c.Content)
		if err != nil {
			continue
		}
		for _, name := range names {
			if taken[name] || len(out) == maxEntries {
				continue
			}
			taken[name] = true
			e := entry{name: name, config: c.Path, sourcePath: c.SourcePath}
			if err := e.read(raws[name]); err != nil {
				e.fault = err.Error()
			}
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return out
}

// members gives the servers of a config.
func members(content []byte) (names []string, raws map[string]json.RawMessage, err error) {
	var config map[string]json.RawMessage
	if err := json.Unmarshal(content, &config); err != nil {
		return nil, nil, err
	}
	list, ok := config["mcpServers"]
	if !ok {
		return nil, nil, nil
	}
	if err := json.Unmarshal(list, &raws); err != nil {
		return nil, nil, err
	}
	return slices.Sorted(maps.Keys(raws)), raws, nil
}

func (e *entry) read(raw json.RawMessage) error {
	if !validName().MatchString(e.name) || strings.Contains(e.name, "__") || strings.HasPrefix(e.name, "_") || strings.HasSuffix(e.name, "_") {
		return errors.New("the name must be 1 to 64 letters, digits, dots, - or _, without __ and without _ at an end")
	}
	var w written
	if err := json.Unmarshal(raw, &w); err != nil {
		return errors.New("the entry has a field of the wrong type")
	}
	e.transport, e.command, e.args, e.env, e.dir, e.url, e.headers = w.Type, w.Command, w.Args, w.Env, w.Dir, w.URL, w.Headers
	if err := e.choose(); err != nil {
		return err
	}
	if err := e.check(); err != nil {
		return err
	}
	// Not what was understood of it: fields that mean nothing today are part of what was approved.
	canonical, err := chat.CanonicalJSON(raw)
	e.canonical = canonical
	return err
}

// choose finds out how the server is reached.
func (e *entry) choose() error {
	switch e.transport {
	case "":
		switch {
		case e.command != "":
			e.transport = Stdio
		case e.url != "":
			e.transport = HTTP
		default:
			return errors.New("the entry has neither a command nor a url")
		}
	case Stdio, HTTP, SSE:
	case "streamable_http", "streamable-http":
		e.transport = HTTP
	default:
		return errors.New("the type must be stdio, http or sse")
	}
	switch {
	case e.transport == Stdio && e.command == "":
		return errors.New("a stdio server needs a command")
	case e.transport != Stdio && e.url == "":
		return errors.New("a server of this type needs a url")
	case e.transport == Stdio && (e.url != "" || len(e.headers) > 0), e.transport != Stdio && (e.command != "" || len(e.args) > 0 || len(e.env) > 0):
		return errors.New("the entry has fields of two types of servers")
	}
	return nil
}

func (e *entry) check() error {
	if len(e.args) > maxList || len(e.env) > maxList || len(e.headers) > maxList {
		return fmt.Errorf("more than %d arguments, variables or headers", maxList)
	}
	texts := append([]string{e.command, e.dir, e.url}, e.args...)
	for _, values := range []map[string]string{e.env, e.headers} {
		for name, value := range values {
			texts = append(texts, name, value)
		}
	}
	for _, text := range texts {
		if len(text) > maxText || strings.ContainsRune(text, 0) {
			return fmt.Errorf("a text is longer than %d bytes, or holds a NUL", maxText)
		}
	}
	for name := range e.env {
		if name == "" || strings.ContainsAny(name, "=\n\r") {
			return errors.New("a variable has no usable name")
		}
	}
	for name, value := range e.headers {
		if !validHeader().MatchString(name) || strings.ContainsAny(value, "\r\n") {
			return errors.New("a header has no usable name, or a line break")
		}
	}
	if e.transport == Stdio {
		return nil
	}
	u, err := url.Parse(e.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the url must begin with http:// or https:// and name a host")
	}
	return nil
}

var validHeader = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\\A[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}\\z") })

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`) })

// variables are the names that the values of env and headers take in.
func (e *entry) variables() []string {
	found := map[string]bool{}
	for _, values := range []map[string]string{e.env, e.headers} {
		for _, value := range values {
			for _, m := range variable().FindAllStringSubmatch(value, -1) {
				found[m[1]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// expand puts the environment into values. The first variable that is not there, by name, is an error that names it alone.
func expand(values map[string]string, lookup func(string) (string, bool)) (map[string]string, error) {
	out := make(map[string]string, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		missing := ""
		out[key] = variable().ReplaceAllStringFunc(values[key], func(m string) string {
			name := m[2 : len(m)-1]
			value, ok := lookup(name)
			if !ok && missing == "" {
				missing = name
			}
			return value
		})
		if missing != "" {
			return nil, fmt.Errorf("the variable %s is not set", missing)
		}
	}
	return out, nil
}

// shown is what a person sees of the entry. The values are sealed.
func (e *entry) shown(seal func(parts ...[]byte) chat.Hash) chat.ServerEntry {
	out := chat.ServerEntry{Transport: e.transport, Command: e.command, Args: e.args, Dir: e.dir, URL: e.url, Variables: e.variables(),
		Env: slices.Sorted(maps.Keys(e.env)), Headers: slices.Sorted(maps.Keys(e.headers))}
	values := [][]byte{[]byte("values")}
	for _, list := range []map[string]string{e.env, e.headers} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			values = append(values, []byte(name), []byte(list[name]))
		}
	}
	out.Values = seal(values...)
	return out
}

// inside gives the directory in which a program starts. It must lie in the Workspace.
func (e *entry) inside(workspace string) (string, error) {
	dir := e.dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(workspace, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", errors.New("there is no directory that cwd names")
	}
	if real != workspace && !strings.HasPrefix(real, strings.TrimSuffix(workspace, "/")+"/") {
		return "", errors.New("cwd is not inside the workspace")
	}
	return real, nil
}
