package site

import (
	"context"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// PlanModeKey is the name of the record of what models are told in plan mode; the value is a chat.PlanModeConfig.
const PlanModeKey = "plan_mode_instructions"

// maxPlanMode bounds the instructions, in bytes: every request of a planning Turn holds them.
const maxPlanMode = 16 << 10

// ReadPlanMode gives what models are told in plan mode; nothing where nothing was stored.
func ReadPlanMode(tx *kv.Tx) (chat.PlanModeConfig, error) {
	return kv.SiteOf(tx, PlanModeKey, chat.PlanModeConfig{})
}

// PlanModeInput asks for the instructions of plan mode.
type PlanModeInput struct{}

// PlanMode gives what models are told in plan mode beside what the appliance says.
func (r *Room) PlanMode(ctx context.Context, _ chat.Principal, _ PlanModeInput) (chat.PlanModeConfig, error) {
	var out chat.PlanModeConfig
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		out, err = ReadPlanMode(tx)
		return err
	})
	return out, err
}

// SetPlanModeInput replaces the instructions.
type SetPlanModeInput struct{ chat.PlanModeConfig }

// SetPlanMode stores what models are told in plan mode. It counts from each Chat's next Turn.
func (r *Room) SetPlanMode(ctx context.Context, _ chat.Principal, in SetPlanModeInput) (Done, error) {
	c := in.PlanModeConfig
	c.Text = strings.TrimSpace(c.Text)
	if err := checkPlanMode(c.Text); err != nil {
		return Done{}, err
	}
	return Done{}, r.put(ctx, PlanModeKey, func(tx *kv.Tx) error { return tx.PutSite(PlanModeKey, c) })
}

func checkPlanMode(text string) error {
	if len(text) > maxPlanMode {
		return chat.Invalid("text", "at most 16 KiB; every request of a planning turn holds it")
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return chat.Invalid("text", "plain text in UTF-8")
	}
	return nil
}
