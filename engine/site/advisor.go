package site

import (
	"context"
	"strconv"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// AdvisorKey is the name of the advisor's record in the store; the value is a chat.AdvisorConfig.
const AdvisorKey = "agents_advisor_config"

// MaxUses is the largest use cap: no Turn has more Steps.
const MaxUses = 1200

// ReadAdvisor gives the advisor's configuration; off where nothing was stored.
func ReadAdvisor(tx *kv.Tx) (chat.AdvisorConfig, error) {
	c, err := kv.SiteOf(tx, AdvisorKey, chat.AdvisorConfig{})
	if c.ModelConfigID == "" {
		c.ModelConfigID = chat.ZeroModelConfig
	}
	return c, err
}

// AdvisorInput asks for the advisor's configuration.
type AdvisorInput struct{}

// Advisor gives how Chats may consult the advisor.
func (r *Room) Advisor(ctx context.Context, _ chat.Principal, _ AdvisorInput) (chat.AdvisorConfig, error) {
	var out chat.AdvisorConfig
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		out, err = ReadAdvisor(tx)
		return err
	})
	return out, err
}

// SetAdvisorInput replaces the configuration whole.
type SetAdvisorInput struct{ chat.AdvisorConfig }

// SetAdvisor stores how Chats may consult the advisor. It counts from each Chat's next Turn.
func (r *Room) SetAdvisor(ctx context.Context, _ chat.Principal, in SetAdvisorInput) (Done, error) {
	c := in.AdvisorConfig
	if c.ModelConfigID == "" {
		c.ModelConfigID = chat.ZeroModelConfig
	}
	v := checkAdvisor(c)
	return Done{}, r.put(ctx, AdvisorKey, func(tx *kv.Tx) error {
		wrong := v
		if c.ModelConfigID != chat.ZeroModelConfig {
			found, err := known(tx, c.ModelConfigID)
			if err != nil {
				return err
			}
			if !found {
				wrong = append(wrong[:len(wrong):len(wrong)], chat.Validation{Field: "model_config_id", Detail: "there is no such model"})
			}
		}
		if len(wrong) > 0 {
			return &chat.Error{Kind: chat.KindInvalid, Message: "The advisor's settings are not valid.", Detail: wrong[0].Field + ": " + wrong[0].Detail,
				Validations: wrong}
		}
		return tx.PutSite(AdvisorKey, c)
	})
}

func checkAdvisor(c chat.AdvisorConfig) []chat.Validation {
	var v []chat.Validation
	bad := func(field, detail string) { v = append(v, chat.Validation{Field: field, Detail: detail}) }
	if c.MaxUsesPerRun < 0 || c.MaxUsesPerRun > MaxUses {
		bad("max_uses_per_run", "a number from 0 to "+strconv.Itoa(MaxUses)+"; 0 means only the limit on steps counts")
	}
	if c.MaxOutputTokens < 0 {
		bad("max_output_tokens", "0 or more; 0 means 16,384")
	}
	switch c.ReasoningEffort {
	case "", "low", "medium", "high":
	default:
		bad("reasoning_effort", `must be "", low, medium or high`)
	}
	return v
}
