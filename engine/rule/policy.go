package rule

import (
	"holdfast/engine/account"
	"holdfast/engine/chat"
)

// Admins write the site's rules, owners those of their Workspaces and Chats.
var (
	policySite         = account.Anyone[SiteInput]()
	policySetSite      = account.AdminWrites[SetSiteInput]()
	policyWorkspace    = account.OwnsWorkspace(func(in WorkspaceInput) chat.WorkspaceID { return in.ID })
	policySetWorkspace = account.OwnsWorkspaceWrites(func(in SetWorkspaceInput) chat.WorkspaceID { return in.ID }).Audited()
	policyChat         = account.Owns(func(in ChatInput) chat.ID { return in.ChatID })
	policySetChat      = account.OwnsWrites(func(in SetChatInput) chat.ID { return in.ChatID }).Audited()
	policyTrySite      = account.Anyone[TrySiteInput]()
	policyTryWorkspace = account.OwnsWorkspace(func(in TryWorkspaceInput) chat.WorkspaceID { return in.ID })
	policyTryChat      = account.Owns(func(in TryChatInput) chat.ID { return in.ChatID })
)
