package workspace

import (
	"holdfast/engine/account"
	"holdfast/engine/chat"
)

// A Workspace belongs to a person. A local one is a folder of the appliance's machine, so only admins add it, and only they say that
// commands run in it without asking (tools.md 3).
var (
	policyList    = account.Anyone[ListInput]()
	policyCreate  = account.AdminWrites[CreateInput]()
	policyGet     = account.OwnsWorkspace(func(in GetInput) chat.WorkspaceID { return in.ID })
	policySandbox = account.OwnsWorkspace(func(in SandboxInput) chat.WorkspaceID { return in.ID })
	policyPaths   = account.OwnsWorkspace(func(in PathsInput) chat.WorkspaceID { return in.ID })
	policyText    = account.OwnsWorkspace(func(in TextInput) chat.WorkspaceID { return in.ID })
	policyUpdate  = account.All(
		account.OwnsWorkspaceWrites(func(in UpdateInput) chat.WorkspaceID { return in.ID }),
		account.AdminWritesIf(func(in UpdateInput) bool { return in.Trusted != nil }))

	// Everybody may make Workspaces from the Templates that an admin allows them; the command looks at that.
	policyListTemplates  = account.Anyone[ListTemplatesInput]()
	policyGetTemplate    = account.Anyone[GetTemplateInput]()
	policyCreateTemplate = account.AdminWrites[CreateTemplateInput]()
	policyUpdateTemplate = account.AdminWrites[UpdateTemplateInput]()
	policyDeleteTemplate = account.AdminWrites[DeleteTemplateInput]()
	policyTTL            = account.Anyone[TTLInput]()
	policySetTTL         = account.AdminWrites[SetTTLInput]()

	policyWatch  = account.Anyone[WatchInput]()
	policyBeside = account.Anyone[BesideInput]()

	policyMake = account.AnyoneWrites[MakeInput]()

	policyStart  = account.OwnsWorkspaceWrites(func(in StartInput) chat.WorkspaceID { return in.ID })
	policyStop   = account.OwnsWorkspaceWrites(func(in StopInput) chat.WorkspaceID { return in.ID })
	policyDelete = account.OwnsWorkspaceWrites(func(in DeleteInput) chat.WorkspaceID { return in.ID })
)
