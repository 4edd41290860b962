package account

import "holdfast/engine/chat"

var (
	policyMe             = Anyone[MeInput]()
	policyListUsers      = Admin[ListUsersInput]()
	policyGetUser        = Admin[GetUserInput]()
	policyCreateUser     = AdminWrites[CreateUserInput]()
	policyUpdateUser     = AdminWrites[UpdateUserInput]()
	policyDeleteUser     = AdminWrites[DeleteUserInput]()
	policyChangePassword = AnyoneWrites[ChangePasswordInput]().Audited()
	policyListTokens     = Self(func(in ListTokensInput) chat.UserID { return in.UserID })
	policyCreateToken    = SelfWrites(func(in CreateTokenInput) chat.UserID { return in.UserID })
	policyRevokeToken    = SelfWrites(func(in RevokeTokenInput) chat.UserID { return in.UserID })
	policyCreateLogin    = SelfWrites(func(in CreateLoginInput) chat.UserID { return in.UserID })
	policyListSessions   = Self(func(in ListSessionsInput) chat.UserID { return in.UserID })
	policyRevokeSession  = SelfWrites(func(in RevokeSessionInput) chat.UserID { return in.UserID })
)
