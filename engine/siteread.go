package engine

import (
	"time"

	"holdfast/engine/site"
	"holdfast/kv"
)

// read takes what the site says about Turns; action is the deadline where it says nothing.
func (x *extras) read(tx *kv.Tx, action time.Duration) error {
	behaviour, err := site.ReadBehaviour(tx)
	if err != nil {
		return err
	}
	plan, err := site.ReadPlanMode(tx)
	if err != nil {
		return err
	}
	x.deadline, x.planText = behaviour.ActionDeadline(action), plan.Text
	return nil
}
