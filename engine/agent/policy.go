package agent

import "holdfast/engine/account"

// An Agent is a machine that the appliance trusts with the commands of its people, so all of it is for admins.
var (
	policyList   = account.Admin[ListInput]()
	policyEnrol  = account.AdminWrites[EnrolInput]()
	policyRenew  = account.AdminWrites[RenewInput]()
	policyRevoke = account.AdminWrites[RevokeInput]()
	policyWatch  = account.Admin[WatchInput]()
)
