package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/outbound"
	"holdfast/engine/site"
	"holdfast/ui/cli"
)

// config is what the configuration file says; a zero field is left open there.
type config struct {
	data         string
	listen       []string
	hosts        []string
	agentsListen string
	modelServer  string
	outbound     chat.OutboundMode
	acquireBatch int
	// localWorkspaces is on or off, "" for neither.
	localWorkspaces string
	log             logOptions
	// site are values of the site configuration, by the names that the store knows them by.
	site map[string]json.RawMessage
}

// configKeys are all keys of the file and how each is read; an object has keys of its own, named with a dot.
var configKeys = map[string]func(c *config, value any) error{
	"data":                 func(c *config, v any) error { return readText(v, &c.data) },
	"listen":               func(c *config, v any) error { return readList(v, &c.listen) },
	"hosts":                func(c *config, v any) error { return readList(v, &c.hosts) },
	"agents.listen":        func(c *config, v any) error { return readText(v, &c.agentsListen) },
	"model_server.url":     func(c *config, v any) error { return readText(v, &c.modelServer) },
	"outbound":             func(c *config, v any) error { return readMode(v, &c.outbound) },
	"local_workspaces":     func(c *config, v any) error { return readSwitch(v, &c.localWorkspaces) },
	"engine.acquire_batch": func(c *config, v any) error { return readCount(v, &c.acquireBatch) },
	"log.level":            func(c *config, v any) error { return readText(v, &c.log.level) },
	"log.format":           func(c *config, v any) error { return readText(v, &c.log.format) },
}

// configVariables are the variables that something of ours reads: the appliance, its commands, the commands of a Workspace, make.
var configVariables = []string{"HOLDFAST_DATA", "HOLDFAST_CONFIG", "HOLDFAST_LISTEN", "HOLDFAST_HOSTS", "HOLDFAST_AGENTS_LISTEN", "HOLDFAST_ENROL_TOKEN", "HOLDFAST_AGENT_URL", "HOLDFAST_OLLAMA", "HOLDFAST_OFFLINE", "HOLDFAST_LOG_LEVEL",
	"HOLDFAST_ACQUIRE_BATCH", "HOLDFAST_LOCAL_WORKSPACES", "HOLDFAST_SERVER", "HOLDFAST_TOKEN_FILE", "HOLDFAST_SHELL", "HOLDFAST_CHAT_ID", "HOLDFAST_PROCESS_ID", "HOLDFAST_PROCESS_LIST", "HOLDFAST_CACHE",
	"HOLDFAST_CONTEXT_INSTRUCTIONS_FILE", "HOLDFAST_CONTEXT_SKILL_META_FILE", "HOLDFAST_CONTEXT_INSTRUCTIONS_DIRS", "HOLDFAST_CONTEXT_SKILLS_DIRS", "HOLDFAST_CONTEXT_MCP_DIRS"}

// unknownVariables are the names of the HOLDFAST_ variables that nothing reads.
func unknownVariables(environ []string) []string {
	var unknown []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "HOLDFAST_") && !slices.Contains(configVariables, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// readConfig reads the configuration file. Without a path it is the default one, which need not be there. Others must not be able to
// write it.
func readConfig(path string) (config, error) {
	named := path != ""
	if !named {
		path = defaultConfig()
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return config{}, nil
	}
	if err != nil {
		return config{}, &cli.Exit{Code: cli.CodeUsage, Message: "configuration file: " + err.Error()}
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 && runtime.GOOS != "windows" {
		return config{}, &cli.Exit{Code: cli.CodeRefused,
			Message: fmt.Sprintf("configuration file: others may write %s (mode %04o); run chmod go-w on it", path, mode)}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return config{}, &cli.Exit{Code: cli.CodeUsage, Message: "configuration file: " + err.Error()}
	}
	c, err := parseConfig(text)
	var wrong *configError
	if errors.As(err, &wrong) {
		line, column := wrong.place(text)
		return config{}, &cli.Exit{Code: cli.CodeUsage, Message: fmt.Sprintf("configuration file %s: line %d, column %d: %s", path, line, column, wrong.problem)}
	}
	return c, err
}

// defaultConfig is where the file is looked for, "" on a machine that knows no home.
func defaultConfig() string {
	if all := filepath.SplitList(os.Getenv("CONFIGURATION_DIRECTORY")); len(all) > 0 && all[0] != "" {
		return filepath.Join(all[0], "config.json")
	}
	if home := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, "holdfast", "config.json")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".config", "holdfast", "config.json")
}

// configError is what is wrong at a byte of the file.
type configError struct {
	at      int
	problem string
}

// Error gives the problem without its place.
func (e *configError) Error() string { return e.problem }

// place counts lines and columns from 1, columns in bytes.
func (e *configError) place(text []byte) (line, column int) {
	before := text[:min(e.at, len(text))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// parseConfig takes one object with known keys, each once. Errors are *configError.
func parseConfig(text []byte) (config, error) {
	var whole any
	var wrong *json.SyntaxError
	if err := json.Unmarshal(text, &whole); errors.As(err, &wrong) {
		return config{}, &configError{at: max(int(wrong.Offset)-1, 0), problem: wrong.Error()}
	} else if err != nil {
		return config{}, &configError{problem: err.Error()}
	}
	r := configReader{text: text, tokens: json.NewDecoder(bytes.NewReader(text)), seen: map[string]bool{}}
	r.tokens.UseNumber()
	if err := r.object(""); err != nil {
		return config{}, err
	}
	return r.config, nil
}

// configReader walks over the tokens of valid JSON and knows where each begins.
type configReader struct {
	text   []byte
	tokens *json.Decoder
	seen   map[string]bool
	config config
}

// next gives a token and the byte at which it begins.
func (r *configReader) next() (json.Token, int, error) {
	at := int(r.tokens.InputOffset())
	at += len(r.text[at:]) - len(bytes.TrimLeft(r.text[at:], " \t\r\n,:"))
	token, err := r.tokens.Token()
	if err != nil {
		return nil, at, &configError{at: at, problem: err.Error()}
	}
	return token, at, nil
}

// object reads an object whose keys are named from prefix on.
func (r *configReader) object(prefix string) error {
	token, at, err := r.next()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		return &configError{at: at, problem: strings.TrimSuffix(firstOf(prefix, "the file"), ".") + " must be an object"}
	}
	for {
		token, at, err := r.next()
		if err != nil || token == json.Delim('}') {
			return err
		}
		// In an object of valid JSON a key is a text.
		if err := r.member(prefix, token.(string), at); err != nil {
			return err
		}
	}
}

func (r *configReader) member(prefix, name string, at int) error {
	key := prefix + name
	if r.seen[key] {
		return &configError{at: at, problem: fmt.Sprintf("%q stands there twice", key)}
	}
	r.seen[key] = true
	if prefix == "site." {
		return r.siteValue(name, at)
	}
	if key == "site" {
		return r.object("site.")
	}
	for known := range configKeys {
		if strings.HasPrefix(known, key+".") {
			return r.object(key + ".")
		}
	}
	set := configKeys[key]
	if set == nil || strings.Contains(name, ".") {
		return &configError{at: at, problem: fmt.Sprintf("%q is not known", key)}
	}
	value, at, err := r.value()
	if err != nil {
		return err
	}
	if err := set(&r.config, value); err != nil {
		return &configError{at: at, problem: key + " " + err.Error()}
	}
	return nil
}

// siteValue reads one value of the site configuration, whole. An object in it may not name a key twice either.
func (r *configReader) siteValue(name string, at int) error {
	var raw json.RawMessage
	if err := r.tokens.Decode(&raw); err != nil {
		return &configError{at: at, problem: err.Error()}
	}
	begins := int(r.tokens.InputOffset()) - len(raw)
	if twice, where := repeatedKey(raw); twice != "" {
		return &configError{at: begins + where, problem: fmt.Sprintf("%q stands there twice", "site."+name+"."+twice)}
	}
	key, value, err := site.Fixed(name, raw)
	if err != nil {
		if place := fieldAt(raw, err); place >= 0 {
			at = begins + place
		}
		return &configError{at: at, problem: fmt.Sprintf("%q %s", "site."+name, err.Error())}
	}
	if r.config.site == nil {
		r.config.site = map[string]json.RawMessage{}
	}
	r.config.site[key] = value
	return nil
}

// repeatedKey finds a key that an object of valid JSON names twice, and where it stands the second time.
func repeatedKey(raw []byte) (string, int) {
	d := json.NewDecoder(bytes.NewReader(raw))
	type level struct {
		object, value bool
		seen          map[string]bool
	}
	var open []level
	for {
		token, err := d.Token()
		if err != nil {
			return "", 0
		}
		top := len(open) - 1
		isKey := top >= 0 && open[top].object && !open[top].value && token != json.Delim('}')
		switch {
		case isKey:
			// In an object of valid JSON a key is a text.
			name := token.(string)
			if open[top].seen[name] {
				return name, int(d.InputOffset()) - len(name) - 2
			}
			open[top].seen[name], open[top].value = true, true
			continue
		case token == json.Delim('{'), token == json.Delim('['):
			open = append(open, level{object: token == json.Delim('{'), seen: map[string]bool{}})
			continue
		case token == json.Delim('}'), token == json.Delim(']'):
			open = open[:top]
		}
		if top = len(open) - 1; top >= 0 {
			open[top].value = false
		}
	}
}

// fieldAt finds where a field stands that encoding/json names in its error, -1 when it names none.
func fieldAt(raw []byte, err error) int {
	_, rest, found := strings.Cut(err.Error(), `unknown field "`)
	if !found {
		return -1
	}
	return bytes.Index(raw, []byte(`"`+strings.TrimSuffix(rest, `"`)+`"`))
}

// value gives a text, a number or a list of them; an object is itself a value that fits nothing.
func (r *configReader) value() (any, int, error) {
	token, at, err := r.next()
	if err != nil || token != json.Delim('[') {
		return token, at, err
	}
	list := []any{}
	for {
		token, _, err := r.next()
		if err != nil || token == json.Delim(']') {
			return list, at, err
		}
		if list = append(list, token); token == json.Delim('[') || token == json.Delim('{') {
			return list, at, nil
		}
	}
}

func readText(v any, into *string) error {
	text, ok := v.(string)
	if !ok || text == "" {
		return errors.New("must be a text")
	}
	*into = text
	return nil
}

func readList(v any, into *[]string) error {
	list, ok := v.([]any)
	if !ok {
		return errors.New("must be a list of texts")
	}
	for _, one := range list {
		text, ok := one.(string)
		if !ok || text == "" {
			return errors.New("must be a list of texts")
		}
		*into = append(*into, text)
	}
	return nil
}

func readMode(v any, into *chat.OutboundMode) error {
	text, _ := v.(string)
	mode, ok := outbound.ParseMode(text)
	if !ok {
		return errors.New(`must be "deny", "ask" or "open"`)
	}
	*into = mode
	return nil
}

func readSwitch(v any, into *string) error {
	text, _ := v.(string)
	if text != "on" && text != "off" {
		return errors.New(`must be "on" or "off"`)
	}
	*into = text
	return nil
}

func readCount(v any, into *int) error {
	n, ok := v.(json.Number)
	if !ok {
		return errors.New("must be a whole number")
	}
	i, err := n.Int64()
	if err != nil || i < 1 || i > math.MaxInt32 {
		return errors.New("must be a whole number above 0")
	}
	*into = int(i)
	return nil
}
