package seal

import "holdfast/engine/account"

var policyRotate = account.AdminWrites[RotateInput]()
