package account

import (
	"strconv"

	"holdfast/engine/chat"
)

// What the audit says of the inputs: no password, not even its length.

// AuditFacts gives name and role.
func (i CreateUserInput) AuditFacts() map[string]string {
	role := i.Role
	if role == "" {
		role = chat.UserMember
	}
	return map[string]string{"name": i.Name, "role": string(role), "password": set(i.Password != "")}
}

// AuditFacts gives what changes.
func (i UpdateUserInput) AuditFacts() map[string]string {
	facts := map[string]string{}
	if i.Name != nil {
		facts["name"] = *i.Name
	}
	if i.Role != nil {
		facts["role"] = string(*i.Role)
	}
	if i.Disabled != nil {
		facts["disabled"] = strconv.FormatBool(*i.Disabled)
	}
	if i.Password != nil {
		facts["password"] = set(*i.Password != "")
	}
	return facts
}

// AuditFacts gives name and right of the token.
func (i CreateTokenInput) AuditFacts() map[string]string {
	return map[string]string{"name": i.Name, "read_only": strconv.FormatBool(i.ReadOnly)}
}

// AuditFacts gives which token.
func (i RevokeTokenInput) AuditFacts() map[string]string {
	return map[string]string{"token": string(i.ID)}
}

// AuditFacts gives which session.
func (i RevokeSessionInput) AuditFacts() map[string]string {
	return map[string]string{"session": string(i.ID)}
}

func set(is bool) string {
	if is {
		return "set"
	}
	return "none"
}
