package model

import "holdfast/engine/account"

// Everybody reads; what changes the site or moves gigabytes is for admins (operations.md 4, roles).
var (
	policyList            = account.Anyone[ListInput]()
	policyGet             = account.Anyone[GetInput]()
	policyCreate          = account.AdminWrites[CreateInput]()
	policyUpdate          = account.AdminWrites[UpdateInput]()
	policyDelete          = account.AdminWrites[DeleteInput]()
	policyDefault         = account.AdminWrites[DefaultInput]()
	policyConnect         = account.AdminWrites[ConnectInput]()
	policyDemo            = account.AdminWrites[DemoInput]()
	policyStatus          = account.Anyone[StatusInput]()
	policyInstalled       = account.Anyone[InstalledInput]()
	policyOffered         = account.AdminWrites[OfferedInput]()
	policyThreshold       = account.Anyone[ThresholdInput]()
	policySetThreshold    = account.AnyoneWrites[SetThresholdInput]()
	policyProbe           = account.AdminWrites[ProbeInput]()
	policyPull            = account.AdminWrites[PullInput]()
	policyImport          = account.AdminWrites[ImportInput]()
	policyDeleteInstalled = account.AdminWrites[DeleteInstalledInput]()
)
