package outbound

import "holdfast/engine/account"

// Whom the appliance calls is the admins' business.
var (
	policyReport  = account.Admin[ReportInput]()
	policySetMode = account.AdminWrites[SetModeInput]()
	policyAllow   = account.AdminWrites[AllowInput]()
	policyForget  = account.AdminWrites[ForgetInput]()
)
