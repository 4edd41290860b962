package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"holdfast/agentside/sandbox"
	"holdfast/engine/chat"
	"holdfast/engine/ollama/scripted"
)

func TestMain(m *testing.M) {
	// Commands are confined by the program that starts them, which here is the test.
	if len(os.Args) > 1 && os.Args[1] == sandbox.ChildCommand {
		if err := sandbox.Child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// measured is what this machine says of a profile.
func (r *rig) measured(p chat.Profile) chat.Sandbox {
	s, _ := r.places.Sandbox(context.Background(), chat.WorkspaceRecord{Kind: chat.WorkspaceLocal, Sandbox: p})
	return s
}

// said gives the sandbox that the Result of an execute names.
func sandboxOf(t *testing.T, result json.RawMessage) chat.Sandbox {
	t.Helper()
	var out struct{ Sandbox chat.Sandbox }
	if err := json.Unmarshal(result, &out); err != nil {
		t.Fatal(err)
	}
	return out.Sandbox
}

// TestFullySandboxedCommandsDoNotAsk: they run at once and their Result says what held them; at every lesser measure they ask.
func TestFullySandboxedCommandsDoNotAsk(t *testing.T) {
	for _, c := range []struct {
		profile chat.Profile
		ran     string
	}{{chat.ProfileWorkspace, "x\n"}, {chat.ProfileReadOnly, "(none)"}, {chat.ProfileNetwork, "x\n"}, {chat.ProfileOff, "x\n"}} {
		t.Run(string(c.profile), func(t *testing.T) {
			r := newRig(t, setup{place: true, untrusted: true, sandbox: c.profile, model: scripted.Model{Answer: answers(
				scripted.Calls(toolCall("execute", `{"command":"echo x > ran"}`)), scripted.Text("done"))}})
			want := r.measured(c.profile)
			t.Logf("measured %+v", want)
			id := r.create("go")
			if !want.Full() {
				v := r.asks(id)
				if err := r.answer(id, v.Chat.Outstanding[0].Call.ID, "allow_once", ""); err != nil {
					t.Fatal(err)
				}
			}
			v := r.rest(id)
			got := sandboxOf(t, v.Messages[2].Content[0].Result)
			if got.Level != want.Level || got.Profile != want.Profile || len(got.Open) != len(want.Open) {
				t.Errorf("the result says %+v, measured %+v", got, want)
			}
			if want.Level != chat.SandboxNone && r.read("ran") != c.ran || want.Level == chat.SandboxNone && r.read("ran") != "x\n" {
				t.Errorf("ran %q at %s", r.read("ran"), want.Level)
			}
		})
	}
}

// TestPlanModeRunsCommandsReadOnly: where the sandbox keeps a command from writing it runs without asking.
func TestPlanModeRunsCommandsReadOnly(t *testing.T) {
	r := newRig(t, setup{place: true, sandbox: chat.ProfileNetwork, model: scripted.Model{Answer: inPlan(toolCall("execute", `{"command":"echo x > ran; echo read"}`))}})
	want := r.measured(chat.ProfileReadOnly)
	id := r.plans("go")
	if !want.Full() {
		if v := r.asks(id); len(v.Chat.Outstanding) != 1 {
			t.Errorf("%+v", v.Chat)
		}
		return
	}
	v := r.rest(id)
	if r.read("ran") != "(none)" {
		t.Error("a command wrote in plan mode")
	}
	if got := sandboxOf(t, v.Messages[2].Content[0].Result); got.Profile != chat.ProfileReadOnly {
		t.Errorf("%+v\n%s", got, transcript(v.Messages))
	}
}

// TestAServerInTheSandboxIsAlone: who starts one in the background learns that no other command reaches it, exactly where that is so; and
// in one command it can be tried.
func TestAServerInTheSandboxIsAlone(t *testing.T) {
	for _, profile := range []chat.Profile{chat.ProfileWorkspace, chat.ProfileNetwork, chat.ProfileOff} {
		r := newRig(t, setup{place: true, sandbox: profile, model: scripted.Model{Answer: answers(
			scripted.Calls(toolCall("execute", `{"command":"sleep 1000","run_in_background":true}`)), scripted.Text("done"))}})
		id := r.create("go")
		text := transcript(r.rest(id).Messages)
		if alone := r.measured(profile).Full(); strings.Contains(text, "a network of its own") != alone {
			t.Errorf("%s: alone is %t in\n%s", profile, alone, text)
		}
	}
}
