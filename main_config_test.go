package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"holdfast/ui/cli"
)

func TestConfigIsReadStrictly(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "line 1, column 1: unexpected end of JSON input"},
		{"[]", "line 1, column 1: the file must be an object"},
		{"{\n  \"data\": \"/d\",\n  \"listen\": [\"127.0.0.1:1\"],\n  \"modle\": 1\n}", `line 4, column 3: "modle" is not known`},
		{"{\"log\": {\"level\": \"info\",\n \"colour\": true}}", `line 2, column 2: "log.colour" is not known`},
		{"{\"data\": \"/a\",\n\"data\": \"/b\"}", `line 2, column 1: "data" stands there twice`},
		{`{"log": {"level": "info"}, "log": {}}`, `line 1, column 28: "log" stands there twice`},
		{`{"data": 7}`, `line 1, column 10: data must be a text`},
		{`{"data": ""}`, `line 1, column 10: data must be a text`},
		{`{"data": null}`, `line 1, column 10: data must be a text`},
		{`{"data": {"a": 1}}`, `line 1, column 10: data must be a text`},
		{`{"log": "debug"}`, `line 1, column 9: log must be an object`},
		{`{"listen": "127.0.0.1:1"}`, `line 1, column 12: listen must be a list of texts`},
		{`{"hosts": ["a:1", 2]}`, `line 1, column 11: hosts must be a list of texts`},
		{`{"hosts": [["a:1"]]}`, `line 1, column 11: hosts must be a list of texts`},
		{`{"engine": {"acquire_batch": 1.5}}`, `line 1, column 30: engine.acquire_batch must be a whole number above 0`},
		{`{"engine": {"acquire_batch": "3"}}`, `line 1, column 30: engine.acquire_batch must be a whole number`},
		{"{}\n x", "line 2, column 2: invalid character 'x' after top-level value"},
		{`{"Data": "/a"}`, `line 1, column 2: "Data" is not known`},
		{`{"model_server.url": "http://a"}`, `line 1, column 2: "model_server.url" is not known`},
		{`{"outbound": "closed"}`, `line 1, column 14: outbound must be "deny", "ask" or "open"`},
		{`{"outbound": "deny"}`, ""},
		{`{"model_server": {"url": "http://a"}}`, ""},
	} {
		path := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readConfig(path)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		var exit *cli.Exit
		if !errors.As(err, &exit) || exit.Code != cli.CodeUsage || exit.Message != "configuration file "+path+": "+c.want {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

func TestConfigFileThatOthersMayWriteIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{0o600: false, 0o644: false, 0o620: true, 0o602: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := readConfig(path)
		if refused != (exitCode(err) == cli.CodeRefused) || !refused && err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, err := readConfig(path + ".none"); exitCode(err) != cli.CodeUsage {
		t.Errorf("a file that is named and not there: %v", err)
	}
}

// TestCheck1FlagVariableFileDefault: each source of a setting wins over those after it; taken away one by one, each next one takes effect, and
// its source is named.
func TestCheck1FlagVariableFileDefault(t *testing.T) {
	home := t.TempDir()
	for _, name := range append(configVariables, "STATE_DIRECTORY", "CONFIGURATION_DIRECTORY", "XDG_DATA_HOME", "OLLAMA_HOST") {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	path := filepath.Join(home, "holdfast", "config.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	file := `{"data": "/file", "listen": ["127.0.0.1:3", "[::1]:3"], "hosts": ["file:3"], "model_server": {"url": "http://file:3"},
		"engine": {"acquire_batch": 3}, "outbound": "open", "local_workspaces": "off", "log": {"level": "warn", "format": "json"}}`
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	type settings struct {
		data, ollama string
		listen       list
		hosts        list
		batch        int
		beside       bool
		log          logOptions
	}
	sources := ""
	expect := func(what string, want settings, args ...string) {
		t.Helper()
		o, err := parseServe(args, io.Discard)
		sources = ""
		for _, s := range o.live.all() {
			sources += s.Key + " " + s.Source + ", "
		}
		got := settings{o.data, o.ollama, o.listen, o.reach.hosts, o.bounds.AcquireBatch, o.reach.beside, o.log}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v, %v", what, got, want, err)
		}
	}
	for name, value := range map[string]string{"HOLDFAST_DATA": "/variable", "HOLDFAST_LISTEN": "127.0.0.1:2, 127.0.0.1:22", "HOLDFAST_HOSTS": "variable:2",
		"HOLDFAST_OLLAMA": "http://variable:2", "HOLDFAST_LOG_LEVEL": "error", "HOLDFAST_ACQUIRE_BATCH": "2", "HOLDFAST_OFFLINE": "1", "HOLDFAST_LOCAL_WORKSPACES": "on", "OLLAMA_HOST": "last:9"} {
		t.Setenv(name, value)
	}
	expect("flags", settings{"/flag", "http://flag:1", list{"127.0.0.1:1"}, list{"flag:1"}, 2, false, logOptions{level: "debug", format: "text"}}, "--data", "/flag",
		"--ollama", "http://flag:1", "--listen", "127.0.0.1:1", "--host", "flag:1", "--log-level", "debug", "--log-format", "text", "--offline")
	if want := "data flag, listen flag, hosts flag, model_server.url flag, agents.listen default, outbound flag, local_workspaces variable, engine.acquire_batch variable, log.level flag, log.format flag, "; sources != want {
		t.Errorf("the sources are %s", sources)
	}
	expect("variables", settings{"/variable", "http://variable:2", list{"127.0.0.1:2", "127.0.0.1:22"}, list{"variable:2"}, 2, false, logOptions{level: "error", format: "json"}})
	if want := "data variable, listen variable, hosts variable, model_server.url variable, agents.listen default, outbound variable, local_workspaces variable, engine.acquire_batch variable, log.level variable, log.format file, "; sources != want {
		t.Errorf("the sources are %s", sources)
	}
	for _, name := range configVariables {
		t.Setenv(name, "")
	}
	expect("file", settings{"/file", "http://file:3", list{"127.0.0.1:3", "[::1]:3"}, list{"file:3"}, 3, true, logOptions{level: "warn", format: "json"}})
	if want := "data file, listen file, hosts file, model_server.url file, agents.listen default, outbound file, local_workspaces file, engine.acquire_batch file, log.level file, log.format file, "; sources != want {
		t.Errorf("the sources are %s", sources)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(home, ".local", "share", "holdfast")
	expect("defaults", settings{data, "last:9", list{"127.0.0.1:8420"}, nil, 0, false, logOptions{level: "info", format: "auto"}})
	if want := "data default, listen default, hosts default, model_server.url variable, agents.listen default, outbound page, local_workspaces default, engine.acquire_batch default, log.level default, log.format default, "; sources != want {
		t.Errorf("the sources are %s", sources)
	}
	t.Setenv("HOLDFAST_ACQUIRE_BATCH", "0")
	expect("clamped", settings{data, "last:9", list{"127.0.0.1:8420"}, nil, 1, false, logOptions{level: "info", format: "auto"}})
	t.Setenv("HOLDFAST_ACQUIRE_BATCH", "many")
	if _, err := parseServe(nil, io.Discard); exitCode(err) != cli.CodeUsage {
		t.Errorf("HOLDFAST_ACQUIRE_BATCH=many: %v", err)
	}
}

func TestUnknownVariablesAreNamed(t *testing.T) {
	got := unknownVariables([]string{"HOLDFAST_LISTNE=x", "HOLDFAST_DATA=/d", "PATH=/bin", "HOLDFAST_OFLINE=1", "XHOLDFAST_A=1"})
	if strings.Join(got, " ") != "HOLDFAST_LISTNE HOLDFAST_OFLINE" {
		t.Error(got)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"data": "/d", "log": {"level": "info"}, "hosts": ["a:1"]}`))
	f.Add([]byte(`{"engine": {"acquire_batch": 3}} x`))
	f.Add([]byte("{\"data\"\n:[[{}]]}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := parseConfig(text)
		var wrong *configError
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("no place: %v", err)
		}
		if wrong != nil && (wrong.at < 0 || wrong.at > len(text)) {
			t.Fatalf("place %d of %d", wrong.at, len(text))
		}
	})
}
