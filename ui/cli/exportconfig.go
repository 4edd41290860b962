package cli

import (
	"context"
	"encoding/json"

	"holdfast/ui/api/client"
)

// siteFile is what stands under "site" in a configuration file.
type siteFile struct {
	Advisor       client.AdvisorConfig       `json:"advisor"`
	Classifier    client.ClassifierConfig    `json:"classifier"`
	Compaction    client.CompactionConfig    `json:"compaction"`
	Behaviour     client.BehaviourConfig     `json:"behaviour"`
	PlanMode      client.PlanModeConfig      `json:"plan_mode_instructions"`
	TurnSummaries client.TurnSummariesConfig `json:"turn_summaries"`
}

// config prints the site configuration as a file that --config accepts. There is no secret among these values.
func (x *exportCommand) config(ctx context.Context, api *client.Client) error {
	var file struct {
		Site siteFile `json:"site"`
	}
	var err error
	for _, get := range []func() error{
		func() error { file.Site.Advisor, err = api.ChatAdvisorConfig(ctx); return err },
		func() error { file.Site.Classifier, err = api.ChatClassifierConfig(ctx); return err },
		func() error { file.Site.Compaction, err = api.ChatCompactionConfig(ctx); return err },
		func() error { file.Site.Behaviour, err = api.ChatBehaviourConfig(ctx); return err },
		func() error { file.Site.PlanMode, err = api.ChatPlanModeInstructions(ctx); return err },
		func() error { file.Site.TurnSummaries, err = api.ChatTurnSummariesConfig(ctx); return err },
	} {
		if err := get(); err != nil {
			return err
		}
	}
	out := json.NewEncoder(x.std.Out)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(file)
}
