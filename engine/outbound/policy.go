package outbound

import "holdfast/engine/account"

// Whom the appliance calls is the admins' business.
var (
	// That something went out is everybody's business; where to, only admins are told.
	policyLeft = account.Anyone[LeftInput]()

	policyReport  = account.Admin[ReportInput]()
	policySetMode = account.AdminWrites[SetModeInput]()
	policyAllow   = account.AdminWrites[AllowInput]()
	policyForget  = account.AdminWrites[ForgetInput]()
)
