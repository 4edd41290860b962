package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/site"
	"holdfast/kv/kvtest"
)

// TestWhatTheSiteSaysReachesThoseWhoAct: at the start, and after each change, without a restart.
func TestWhatTheSiteSaysReachesThoseWhoAct(t *testing.T) {
	store := kvtest.Open(t)
	set := chat.BehaviourConfig{RunningTurns: 2, ProcessMaxRuntimeMS: 5000, ContextAllowedRoots: []string{"/srv/notes"}}
	if _, err := site.New(store).SetBehaviour(t.Context(), chat.Principal{}, site.SetBehaviourInput{BehaviourConfig: set}); err != nil {
		t.Fatal(err)
	}
	b := behaving{room: site.New(store)}
	if b.maxRuntime() != 0 || b.contextRoots() != nil {
		t.Error("something is bounded before it was read")
	}
	var turns []int
	if err := b.begin(t.Context(), func(c chat.BehaviourConfig) { turns = append(turns, c.RunningTurns) }); err != nil {
		t.Fatal(err)
	}
	if b.maxRuntime() != 5*time.Second || !reflect.DeepEqual(b.contextRoots(), []string{"/srv/notes"}) {
		t.Errorf("%s, %v", b.maxRuntime(), b.contextRoots())
	}
	if _, err := b.room.SetBehaviour(t.Context(), chat.Principal{}, site.SetBehaviourInput{}); err != nil || b.maxRuntime() != 0 || len(b.contextRoots()) != 0 {
		t.Errorf("%s, %v, %v", b.maxRuntime(), b.contextRoots(), err)
	}
	if !reflect.DeepEqual(turns, []int{2, 0}) {
		t.Errorf("the turns at once were told as %v", turns)
	}
	for field, bad := range map[string]chat.BehaviourConfig{"running_turns": {RunningTurns: -1}, "step_cap": {StepCap: 1201}, "requires_action_deadline_ms": {ActionDeadlineMS: 5},
		"process_max_runtime_ms": {ProcessMaxRuntimeMS: 999}, "context_allowed_roots": {ContextAllowedRoots: []string{"notes"}}} {
		_, err := b.room.SetBehaviour(t.Context(), chat.Principal{}, site.SetBehaviourInput{BehaviourConfig: bad})
		refused, ok := err.(*chat.Error)
		if !ok || len(refused.Validations) != 1 || refused.Validations[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if len(turns) != 2 {
		t.Error("what was refused was told")
	}
	store.FixSite(map[string]json.RawMessage{site.BehaviourKey: []byte(`{"running_turns":3,"process_max_runtime_ms":7000}`)})
	if err := b.room.Retell(t.Context()); err != nil || b.maxRuntime() != 7*time.Second || !reflect.DeepEqual(turns, []int{2, 0, 3}) {
		t.Errorf("what the file says is %s, %v, %v", b.maxRuntime(), turns, err)
	}
}

// TestTheSiteBoundsAllCommands: not only those of models, the setup of a template as well.
func TestTheSiteBoundsAllCommands(t *testing.T) {
	a := serveNow(t, launch{})
	a.must("PUT", "/api/v1/chats/config/behaviour", map[string]any{"process_max_runtime_ms": 1000}, nil)
	var template, made struct{ ID string }
	a.must("POST", "/api/v1/templates", map[string]any{"name": "slow", "kind": "directory", "source": t.TempDir(), "setup": "echo begun; exec sleep 600"}, &template)
	a.must("POST", "/api/v1/workspaces", map[string]any{"template_id": template.ID}, &made)
	var now struct {
		State    string
		SetupLog string `json:"setup_log"`
	}
	eventually(t, time.Minute, "the setup to be ended", func() bool {
		a.must("GET", "/api/v1/workspaces/"+made.ID, nil, &now)
		return now.State == "setup_failed"
	})
	if !strings.Contains(now.SetupLog, "begun") || !strings.Contains(now.SetupLog, "It ran longer than the 1s it was given") {
		t.Errorf("%+v", now)
	}
}
