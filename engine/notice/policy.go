package notice

import "holdfast/engine/account"

// Everybody hears of their own Chats alone, and has subscriptions of their own.
var (
	policyFollow    = account.Anyone[FollowInput]()
	policySince     = account.Anyone[SinceInput]()
	policyList      = account.Anyone[ListInput]()
	policyMuted     = account.Anyone[MutedInput]()
	policyRead      = account.AnyoneWrites[ReadInput]()
	policyMute      = account.AnyoneWrites[MuteInput]()
	policyReached   = account.Anyone[ReachedInput]()
	policySubscribe = account.AnyoneWrites[SubscribeInput]()
	policyAddHook   = account.AnyoneWrites[AddHookInput]()
	policyRemove    = account.AnyoneWrites[RemoveInput]()
	policyTry       = account.AnyoneWrites[TryInput]()
)
