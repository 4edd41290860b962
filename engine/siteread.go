package engine

import (
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/site"
	"holdfast/kv"
)

// siteSaid is what the site says about Turns, as it was when the Turn began.
type siteSaid struct {
	// planText is what models are told in plan mode, deadline how long a program may take to answer.
	planText string
	deadline time.Duration
	// stepCap ends the Turn normally.
	stepCap int
	// judges: finished Turns are judged.
	judges bool
	// advisor and its model, which is the Chat's own where the settings name none that can be used; load is how long that took to load last.
	advisor chat.AdvisorConfig
	advises chat.ModelConfig
	load    time.Duration
}

// readSite reads what the site says about the Turn. Judging and advice are not worth a Turn: what cannot be read of them is off.
func (r *run) readSite(tx *kv.Tx) error {
	said := &r.t.extra.said
	behaviour, err := site.ReadBehaviour(tx)
	if err != nil {
		return err
	}
	plan, err := site.ReadPlanMode(tx)
	if err != nil {
		return err
	}
	if said.stepCap = r.e.bounds.StepCap; behaviour.StepCap > 0 {
		said.stepCap = behaviour.StepCap
	}
	said.deadline, said.planText = behaviour.ActionDeadline(r.e.bounds.ActionTimeout), plan.Text
	judges, err := site.ReadClassifier(tx)
	if err != nil {
		r.log().Warn("the classifier's settings could not be read, so this turn is not judged", chat.LogError, err)
	}
	said.judges = judges.Enabled && err == nil
	if err := r.readAdvisor(tx); err != nil {
		r.log().Warn("the advisor's settings could not be read, so this turn has none", chat.LogError, err)
		said.advisor.Enabled = false
	}
	return nil
}

func (r *run) readAdvisor(tx *kv.Tx) (err error) {
	said := &r.t.extra.said
	said.advises = r.t.config
	if said.advisor, err = site.ReadAdvisor(tx); err != nil || !said.advisor.Enabled {
		return err
	}
	if id := said.advisor.ModelConfigID; id != chat.ZeroModelConfig && id != said.advises.ID {
		named, err := r.e.ports.configs(tx, id)
		if err != nil || named.ID != id {
			r.log().Warn("the advisor's model is gone or disabled; the chat's own is asked", chat.LogModel, id, chat.LogError, err)
		} else {
			said.advises = named
		}
	}
	loads, err := site.Loads(tx)
	said.load = loads[said.advises.ID]
	return err
}
