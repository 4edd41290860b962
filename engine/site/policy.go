package site

import "holdfast/engine/account"

// Everybody reads the configuration, admins write it.
var (
	policyFixed         = account.Anyone[FixedInput]()
	policyAdvisor       = account.Anyone[AdvisorInput]()
	policySetAdvisor    = account.AdminWrites[SetAdvisorInput]()
	policyClassifier    = account.Anyone[ClassifierInput]()
	policySetClassifier = account.AdminWrites[SetClassifierInput]()

	policyBehaviour    = account.Anyone[BehaviourInput]()
	policySetBehaviour = account.AdminWrites[SetBehaviourInput]()
	policyPlanMode     = account.Anyone[PlanModeInput]()
	policySetPlanMode  = account.AdminWrites[SetPlanModeInput]()

	policyCompaction    = account.Anyone[CompactionInput]()
	policySetCompaction = account.AdminWrites[SetCompactionInput]()

	policyTurnSummaries    = account.Anyone[TurnSummariesInput]()
	policySetTurnSummaries = account.AdminWrites[SetTurnSummariesInput]()
)
