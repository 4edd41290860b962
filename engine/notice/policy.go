package notice

import "holdfast/engine/account"

// Everybody hears of their own Chats alone.
var (
	policyFollow = account.Anyone[FollowInput]()
	policySince  = account.Anyone[SinceInput]()
)
