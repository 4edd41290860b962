package skill

import (
	"testing"

	"holdfast/engine/chat"
)

func TestBodyIsWhatFollowsTheFrontMatter(t *testing.T) {
	for in, want := range map[string]string{
		"---\nname: x\n---\n\nBody.":           "Body.",
		"\uFEFF---\r\nname: x\r\n---\r\nBody.": "Body.",
		"  --- \nname: x\n --- \nBody.":        "Body.",
		"No front matter.":                     "No front matter.",
		"---\nname: x\nnever closed":           "",
		"---\nname: x\n---":                    "",
		"":                                     "",
	} {
		if got := Body([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAPlainNameWinsOverThatOfAPlugin(t *testing.T) {
	skill := func(name string, status chat.ResourceStatus) chat.Resource {
		return chat.Resource{Kind: chat.ResourceSkill, Source: "/" + name, Name: name, Status: status}
	}
	s := &chat.Snapshot{Resources: []chat.Resource{skill("kit:brew", chat.ResourceOK), skill("brew", chat.ResourceOK), skill("kit:roast", chat.ResourceOK),
		skill("grind", chat.ResourceInvalid)}}
	for name, want := range map[string]string{"brew": "/brew", "kit:brew": "/kit:brew", "roast": "/kit:roast", "grind": "", "oast": "", "": ""} {
		if got, ok := Find(s, name); got.Source != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", name, got.Source, ok)
		}
	}
	if Any(nil) || Any(&chat.Snapshot{}) || !Any(s) {
		t.Error("whether there is a skill")
	}
}

func TestPathsThatNoSkillHas(t *testing.T) {
	for path, refused := range map[string]bool{"a.md": false, "ref/a.md": false, "./a.md": false, "a..md": false, "": true, " ": true, "/etc/passwd": true,
		"../x": true, "ref/../../x": true, ".git/config": true, "ref/.env": true, `..\x`: true, `C:\x`: true, `\\host\x`: true} {
		if got := refusedPath(path); (got != "") != refused {
			t.Errorf("%q: %q", path, got)
		}
	}
}
