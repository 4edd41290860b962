package mcp

import "holdfast/engine/account"

// Members see and use what admins configure; a sign-in is a person's own.
var (
	policyList       = account.Anyone[ListInput]()
	policyGet        = account.Anyone[GetInput]()
	policyCreate     = account.AdminWrites[CreateInput]()
	policyUpdate     = account.AdminWrites[UpdateInput]()
	policyDelete     = account.AdminWrites[DeleteInput]()
	policyTest       = account.AdminWrites[TestInput]()
	policyTools      = account.Admin[ToolsInput]()
	policyAccept     = account.AdminWrites[AcceptInput]()
	policyConnect    = account.AnyoneWrites[ConnectInput]()
	policyDisconnect = account.AnyoneWrites[DisconnectInput]()
)
