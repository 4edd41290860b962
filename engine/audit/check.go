package audit

import (
	"context"
	"encoding/hex"
	"fmt"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// CheckInput may hold a head that was noted earlier, such as one from the log: the record of that Number must still have that Hash (hex).
type CheckInput struct {
	Number int64
	Hash   string
}

// CheckOutput says how the chain is: the numbers of its ends, the hash of the head, and what does not hold.
type CheckOutput struct {
	First, Last int64
	Head        string
	Broken      []string
}

// Check follows the whole chain, and holds it against a noted head where there is one.
func (r *Room) Check(ctx context.Context, _ chat.Principal, in CheckInput) (CheckOutput, error) {
	hash, err := hex.DecodeString(in.Hash)
	switch {
	case in.Number < 0:
		return CheckOutput{}, chat.Invalid("number", "must be the number of a record")
	case err != nil || in.Number > 0 && len(hash) != 32:
		return CheckOutput{}, chat.Invalid("sha256", "must be the 64 hex digits that the log shows")
	}
	found, err := r.store.CheckAudit(ctx)
	if err != nil {
		return CheckOutput{}, err
	}
	var out CheckOutput
	err = r.store.View(ctx, func(tx *kv.Tx) error {
		chain, err := tx.AuditChain()
		if err != nil {
			return err
		}
		out = CheckOutput{First: chain.First, Last: chain.Last, Head: hex.EncodeToString(chain.Head)}
		if in.Number == 0 {
			return nil
		}
		held, err := tx.HoldAudit(in.Number, hash)
		found = append(found, held...)
		return err
	})
	if err != nil {
		return CheckOutput{}, err
	}
	for _, d := range found {
		out.Broken = append(out.Broken, d.Reason)
	}
	if len(out.Broken) > 0 {
		r.log.ErrorContext(ctx, "the audit does not hold", chat.LogFound, len(out.Broken), chat.LogFirst, fmt.Sprint(out.Broken[0]))
	}
	return out, nil
}
