package usage

import (
	"holdfast/engine/account"
	"holdfast/engine/chat"
)

// People see their own use and the limits that count for them, admins everybody's; admins set limits.
var (
	policyChatCost  = account.Owns(func(in ChatCostInput) chat.ID { return in.ChatID })
	policySummary   = account.Self(func(in SummaryInput) chat.UserID { return in.UserID })
	policyOverall   = account.Admin[OverallInput]()
	policyUsers     = account.Admin[UsersInput]()
	policyStanding  = account.Self(func(in StandingInput) chat.UserID { return in.UserID })
	policyLimits    = account.Anyone[LimitsInput]()
	policySetLimits = account.AdminWrites[SetLimitsInput]()
)
