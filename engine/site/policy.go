package site

import "holdfast/engine/account"

// Everybody reads the configuration, admins write it.
var (
	policyAdvisor       = account.Anyone[AdvisorInput]()
	policySetAdvisor    = account.AdminWrites[SetAdvisorInput]()
	policyClassifier    = account.Anyone[ClassifierInput]()
	policySetClassifier = account.AdminWrites[SetClassifierInput]()

	policyTurnSummaries    = account.Anyone[TurnSummariesInput]()
	policySetTurnSummaries = account.AdminWrites[SetTurnSummariesInput]()
)
