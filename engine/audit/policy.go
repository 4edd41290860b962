package audit

import "holdfast/engine/account"

// Who did what is for admins.
var (
	policyList  = account.Admin[ListInput]()
	policyCheck = account.Admin[CheckInput]()
)
