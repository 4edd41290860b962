package health

import "holdfast/engine/account"

var (
	policyReport = account.Admin[ReportInput]()
	policyDoctor = account.Admin[DoctorInput]()
	policyBundle = account.Admin[BundleInput]()
)
