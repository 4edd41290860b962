package api_test

import (
	"errors"
	"strings"
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
)

const zeroAdvisor = `{"enabled":false,"max_uses_per_run":0,"max_output_tokens":0,"reasoning_effort":"","model_config_id":"00000000-0000-0000-0000-000000000000"}`

// checkSite sees every route of the site configuration, and leaves it off.
func checkSite(t *testing.T, a *apitest.Appliance, take func(step) []byte) {
	const advisor, classifier = "/chats/config/advisor", "/chats/config/classifier"
	models, err := a.Client.Models(t.Context())
	if err != nil || len(models) == 0 {
		t.Fatalf("%d models, %v", len(models), err)
	}
	id := string(models[0].ID)
	whole := `{"enabled":true,"max_uses_per_run":3,"max_output_tokens":4096,"reasoning_effort":"high","model_config_id":"` + id + `"}`
	take(step{name: "never written", method: "GET", path: advisor, status: 200, has: []string{zeroAdvisor}})
	take(step{name: "advisor", method: "PUT", path: advisor, body: whole, status: 204})
	take(step{name: "the same", method: "GET", path: advisor, status: 200, has: []string{whole}})
	for name, x := range map[string]struct{ body, field string }{
		"a negative number of uses":    {`{"max_uses_per_run":-1}`, "max_uses_per_run"},
		"too many uses":                {`{"max_uses_per_run":1201}`, "max_uses_per_run"},
		"negative tokens":              {`{"max_output_tokens":-1}`, "max_output_tokens"},
		"another effort":               {`{"reasoning_effort":"most"}`, "reasoning_effort"},
		"an unknown model":             {`{"model_config_id":"0197c2f0-0000-7000-8000-000000000000"}`, "model_config_id"},
		"no id":                        {`{"model_config_id":"x"}`, "model_config_id"},
		"the same id in other letters": {`{"model_config_id":"0197C2F0-0000-7000-8000-000000000000"}`, "model_config_id"},
		"half a use":                   {`{"max_uses_per_run":1.5}`, "max_uses_per_run"},
		"a text for a switch":          {`{"enabled":"yes"}`, "enabled"},
		"an unknown field":             {`{"enabled":true,"model":"x"}`, "model"},
	} {
		take(step{name: name, method: "PUT", path: advisor, body: x.body, status: 400, has: []string{`"field":"` + x.field + `"`}})
	}
	take(step{name: "two wrong fields", method: "PUT", path: advisor, body: `{"max_uses_per_run":-1,"reasoning_effort":"x"}`, status: 400,
		has: []string{`"field":"max_uses_per_run"`, `"field":"reasoning_effort"`}})
	take(step{name: "broken", method: "PUT", path: advisor, body: `{"enabled":`, status: 400})
	take(step{name: "nothing was changed", method: "GET", path: advisor, status: 200, has: []string{whole}})
	take(step{name: "stored whole", method: "PUT", path: advisor, body: `{"model_config_id":""}`, status: 204})
	take(step{name: "zero again", method: "GET", path: advisor, status: 200, has: []string{zeroAdvisor}})

	take(step{name: "classifier of tests", method: "PUT", path: classifier, body: `{"enabled":true}`, status: 204})
	take(step{name: "classifier", method: "GET", path: classifier, status: 200, has: []string{`{"enabled":true,"candidates":[]}`}})
	take(step{name: "classifier off", method: "PUT", path: classifier, body: `{"enabled":false,"candidates":["` + id + `"]}`, status: 204})
	take(step{name: "classifier is off", method: "GET", path: classifier, status: 200, has: []string{`{"enabled":false,"candidates":["` + id + `"]}`}})
	take(step{name: "an unknown candidate", method: "PUT", path: classifier, body: `{"candidates":["x"]}`, status: 400, has: []string{`"field":"candidates"`}})
	take(step{name: "defaults", method: "PUT", path: classifier, body: `{}`, status: 204})
	take(step{name: "classifier is on", method: "GET", path: classifier, status: 200, has: []string{`{"enabled":true,"candidates":[]}`}})
	take(step{name: "classifier of tests again", method: "PUT", path: classifier, body: `{"enabled":false}`, status: 204})

	const compaction = "/chats/config/compaction"
	take(step{name: "the chat's own summarises", method: "GET", path: compaction, status: 200, has: []string{`{"model_config_id":"` + string(chat.ZeroModelConfig) + `"}`}})
	take(step{name: "a model for summaries", method: "PUT", path: compaction, body: `{"model_config_id":"` + id + `"}`, status: 204})
	take(step{name: "the model for summaries", method: "GET", path: compaction, status: 200, has: []string{`{"model_config_id":"` + id + `"}`}})
	take(step{name: "an unknown model for summaries", method: "PUT", path: compaction, body: `{"model_config_id":"x"}`, status: 400, has: []string{`"field":"model_config_id"`}})
	take(step{name: "broken", method: "PUT", path: compaction, body: `{`, status: 400})
	take(step{name: "its own again", method: "PUT", path: compaction, body: `{}`, status: 204})
	take(step{name: "is its own again", method: "GET", path: compaction, status: 200, has: []string{string(chat.ZeroModelConfig)}})
	const summaries = "/chats/config/turn-summaries"
	take(step{name: "turn summaries", method: "GET", path: summaries, status: 200, has: []string{`{"enabled":true}`}})
	take(step{name: "turn summaries off", method: "PUT", path: summaries, body: `{"enabled":false}`, status: 204})
	take(step{name: "turn summaries are off", method: "GET", path: summaries, status: 200, has: []string{`{"enabled":false}`}})
	take(step{name: "turn summaries as ever", method: "PUT", path: summaries, body: `{}`, status: 204})
	take(step{name: "turn summaries are on", method: "GET", path: summaries, status: 200, has: []string{`{"enabled":true}`}})
	checkBehaviour(take)
}

// checkBehaviour sees the routes of how Turns go and of plan mode's instructions, and leaves them as they were.
func checkBehaviour(take func(step) []byte) {
	const behaviour, plan = "/chats/config/behaviour", "/chats/config/plan-mode-instructions"
	take(step{name: "behaviour", method: "GET", path: behaviour, status: 200, has: []string{`"running_turns":0`, `"requires_action_deadline_ms":0}`}})
	take(step{name: "an hour", method: "PUT", path: behaviour, body: `{"requires_action_deadline_ms":3600000}`, status: 204})
	for name, body := range map[string]string{"below": `{"requires_action_deadline_ms":999}`, "negative": `{"requires_action_deadline_ms":-1}`,
		"too long": `{"requires_action_deadline_ms":604800001}`, "a text": `{"requires_action_deadline_ms":"5m"}`, "half": `{"requires_action_deadline_ms":1500.5}`} {
		take(step{name: name, method: "PUT", path: behaviour, body: body, status: 400, has: []string{`"field":"requires_action_deadline_ms"`}})
	}
	take(step{name: "an unknown field", method: "PUT", path: behaviour, body: `{"deadline":1}`, status: 400, has: []string{`"field":"deadline"`}})
	take(step{name: "broken behaviour", method: "PUT", path: behaviour, body: `{`, status: 400})
	take(step{name: "nothing was changed", method: "GET", path: behaviour, status: 200, has: []string{`"requires_action_deadline_ms":3600000}`}})
	take(step{name: "as ever", method: "PUT", path: behaviour, body: `{}`, status: 204})

	take(step{name: "plan mode", method: "GET", path: plan, status: 200, has: []string{`{"text":""}`}})
	take(step{name: "plan mode set", method: "PUT", path: plan, body: `{"text":" Name the risks. \n"}`, status: 204})
	take(step{name: "plan mode too long", method: "PUT", path: plan, body: `{"text":"` + strings.Repeat("x", 16<<10+1) + `"}`, status: 400, has: []string{`"field":"text"`}})
	take(step{name: "plan mode with a zero", method: "PUT", path: plan, body: `{"text":"a\u0000b"}`, status: 400, has: []string{`"field":"text"`}})
	take(step{name: "plan mode of numbers", method: "PUT", path: plan, body: `{"text":7}`, status: 400, has: []string{`"field":"text"`}})
	take(step{name: "plan mode unknown", method: "PUT", path: plan, body: `{"instructions":"x"}`, status: 400, has: []string{`"field":"instructions"`}})
	take(step{name: "plan mode kept", method: "GET", path: plan, status: 200, has: []string{`{"text":"Name the risks."}`}})
	take(step{name: "plan mode off", method: "PUT", path: plan, body: `{}`, status: 204})
}

// TestCase46TheAdvisorsConfig: everybody reads it, admins write it.
func TestCase46TheAdvisorsConfig(t *testing.T) {
	a := apitest.Start(t, apitest.Options{})
	_, token := a.AddUser(t, "mo", chat.UserMember)
	mo := a.As(t, token)
	want := client.AdvisorConfig{Enabled: true, MaxUsesPerRun: 3, ReasoningEffort: "low", ModelConfigID: chat.ZeroModelConfig}
	if err := a.Client.UpdateChatAdvisorConfig(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	off := false
	if err := a.Client.UpdateChatClassifierConfig(t.Context(), client.ClassifierUpdate{Enabled: &off}); err != nil {
		t.Fatal(err)
	}
	advisor, classifier := mo.UpdateChatAdvisorConfig(t.Context(), client.AdvisorConfig{}), mo.UpdateChatClassifierConfig(t.Context(), client.ClassifierUpdate{})
	summaries := mo.UpdateChatTurnSummariesConfig(t.Context(), client.TurnSummariesUpdate{Enabled: &off})
	behaviour := mo.UpdateChatBehaviourConfig(t.Context(), client.BehaviourConfig{ActionDeadlineMS: 5000})
	plan := mo.UpdateChatPlanModeInstructions(t.Context(), client.PlanModeConfig{Text: "x"})
	if got, err := mo.ChatBehaviourConfig(t.Context()); err != nil || got.ActionDeadlineMS != 0 {
		t.Errorf("a member reads %+v, %v", got, err)
	}
	if got, err := mo.ChatPlanModeInstructions(t.Context()); err != nil || got.Text != "" {
		t.Errorf("a member reads %+v, %v", got, err)
	}
	compaction := mo.UpdateChatCompactionConfig(t.Context(), client.CompactionConfig{})
	for name, err := range map[string]error{"compaction": compaction, "advisor": advisor, "classifier": classifier, "turn summaries": summaries, "behaviour": behaviour, "plan mode": plan} {
		var refused *chat.Error
		if !errors.As(err, &refused) || refused.Kind != chat.KindForbidden || refused.StatusCode != 403 {
			t.Errorf("a member changes the %s: %v", name, err)
		}
	}
	if got, err := mo.ChatAdvisorConfig(t.Context()); err != nil || got != want {
		t.Errorf("a member reads %+v, %v", got, err)
	}
	if got, err := mo.ChatClassifierConfig(t.Context()); err != nil || got.Enabled {
		t.Errorf("a member reads %+v, %v", got, err)
	}
	if got, err := mo.ChatTurnSummariesConfig(t.Context()); err != nil || !got.Enabled {
		t.Errorf("a member reads %+v, %v", got, err)
	}
}
