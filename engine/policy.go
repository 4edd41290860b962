package engine

import (
	"holdfast/engine/account"
	"holdfast/engine/chat"
)

//go:generate go run holdfast/engine/guardgen -type Engine

var (
	policyCreate       = account.AnyoneWrites[CreateInput]()
	policyList         = account.Anyone[ListInput]()
	policyWatchList    = account.Anyone[WatchListInput]()
	policyOverview     = account.Anyone[OverviewInput]()
	policyFamilies     = account.Anyone[FamiliesInput]()
	policyGet          = account.Owns(func(in GetInput) chat.ID { return in.ChatID })
	policyView         = account.Owns(func(in ViewInput) chat.ID { return in.ChatID })
	policyMessage      = account.Owns(func(in MessageInput) chat.ID { return in.ChatID })
	policyWatch        = account.Owns(func(in WatchInput) chat.ID { return in.ChatID })
	policyWatchContext = account.OwnsWorkspace(func(in WatchContextInput) chat.WorkspaceID { return in.WorkspaceID })
	policyUnread       = account.Owns(func(in UnreadInput) chat.ID { return in.ChatID })
	policySeen         = account.Owns(func(in SeenInput) chat.ID { return in.ChatID })
	policyProcesses    = account.Owns(func(in ProcessesInput) chat.ID { return in.ChatID })
	policyChanges      = account.Owns(func(in ChangesInput) chat.ID { return in.ChatID })
	policyRepositories = account.Owns(func(in RepositoriesInput) chat.ID { return in.ChatID })
	policyStopProcess  = account.OwnsWrites(func(in StopProcessInput) chat.ID { return in.ChatID })
	policySwap         = account.Anyone[SwapInput]()
	policySend         = account.OwnsWrites(func(in SendInput) chat.ID { return in.ChatID })
	policyEdit         = account.OwnsWrites(func(in EditInput) chat.ID { return in.ChatID })
	policyFork         = account.OwnsWrites(func(in ForkInput) chat.ID { return in.ChatID })
	policyImport       = account.AnyoneWrites[ImportInput]()
	policyTitle        = account.OwnsWrites(func(in TitleInput) chat.ID { return in.ChatID })
	policyTranscript   = account.Owns(func(in TranscriptInput) chat.ID { return in.ChatID })
	policyInterrupt    = account.OwnsWrites(func(in InterruptInput) chat.ID { return in.ChatID })
	policyRetry        = account.OwnsWrites(func(in RetryInput) chat.ID { return in.ChatID })
	policyCompact      = account.OwnsWrites(func(in CompactInput) chat.ID { return in.ChatID })
	policyClear        = account.OwnsWrites(func(in ClearInput) chat.ID { return in.ChatID })
	policyAmend        = account.OwnsWrites(func(in AmendInput) chat.ID { return in.ChatID })
	policyDelete       = account.OwnsWrites(func(in DeleteInput) chat.ID { return in.ChatID })
	policySubmit       = account.OwnsWrites(func(in SubmitInput) chat.ID { return in.ChatID })
	policyAnswer       = account.OwnsWrites(func(in AnswerInput) chat.ID { return in.ChatID }).Audited()
	policyEditQueued   = account.OwnsWrites(func(in EditQueuedInput) chat.ID { return in.ChatID })
	policyDeleteQueued = account.OwnsWrites(func(in QueuedInput) chat.ID { return in.ChatID })
	policyPromote      = account.OwnsWrites(func(in QueuedInput) chat.ID { return in.ChatID })
	policyPin          = account.OwnsWrites(func(in PinInput) chat.ID { return in.ChatID })
	policyRestore      = account.OwnsWrites(func(in RestoreInput) chat.ID { return in.ChatID })
)
