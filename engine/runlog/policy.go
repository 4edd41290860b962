package runlog

import (
	"holdfast/engine/account"
	"holdfast/engine/chat"
)

// Calls hold all that stands in a Chat, so they are its owner's alone. Whether they are kept is no secret; admins decide it.
var (
	policyList       = account.Owns(func(in ListInput) chat.ID { return in.ChatID })
	policyTurns      = account.Owns(func(in TurnsInput) chat.ID { return in.ChatID })
	policyGet        = account.Owns(func(in GetInput) chat.ID { return in.ChatID })
	policySetting    = account.Anyone[SettingInput]()
	policySetSetting = account.AdminWrites[SetSettingInput]()
)
