package sample

import (
	"time"

	"holdfast/engine/account"
	"holdfast/engine/chat"
)

var (
	policySend  = account.OwnsWrites(func(in SendInput) chat.ID { return in.ChatID })
	policyWatch = account.Anyone[time.Duration]()
	policyAll   = account.Admin[struct{}]()
)
