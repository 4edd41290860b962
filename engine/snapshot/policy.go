package snapshot

import (
	"holdfast/engine/account"
	"holdfast/engine/chat"
)

// A Workspace's context is its owner's. A Source is a path of the machine that has the files; that machine says which ones it takes.
var (
	policyPlace        = account.OwnsWorkspace(func(in PlaceInput) chat.WorkspaceID { return in.ID })
	policyChat         = account.Owns(func(in ChatInput) chat.ID { return in.ID })
	policyCompare      = account.Owns(func(in CompareInput) chat.ID { return in.ID })
	policyText         = account.OwnsWorkspace(func(in TextInput) chat.WorkspaceID { return in.ID })
	policySources      = account.OwnsWorkspace(func(in SourcesInput) chat.WorkspaceID { return in.ID })
	policySource       = account.OwnsWorkspace(func(in SourceInput) chat.WorkspaceID { return in.ID })
	policyAddSource    = account.OwnsWorkspaceWrites(func(in AddSourceInput) chat.WorkspaceID { return in.ID })
	policyRemoveSource = account.OwnsWorkspaceWrites(func(in RemoveSourceInput) chat.WorkspaceID { return in.ID })
	policyResync       = account.OwnsWorkspaceWrites(func(in ResyncInput) chat.WorkspaceID { return in.ID })
	policyServers      = account.OwnsWorkspace(func(in ServersInput) chat.WorkspaceID { return in.ID })
	// What is approved runs a program that a repository chose.
	policyApproveServer = account.OwnsWorkspaceWrites(func(in ApproveServerInput) chat.WorkspaceID { return in.ID }).Audited()
	policyRefuseServer  = account.OwnsWorkspaceWrites(func(in RefuseServerInput) chat.WorkspaceID { return in.ID }).Audited()
	policyRefresh       = account.Anyone[RefreshInput]()
	policySetRefresh    = account.AnyoneWrites[SetRefreshInput]()
)
