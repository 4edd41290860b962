// Package agent keeps the Agents that have enrolled, and the enrolments that wait for one.
//
// Room holds the commands of administrators: List, Watch, Enrol, Renew, Revoke. Claim, Record and Seen are for the link, which knows the Agents
// only by what it asks here. One Agent serves one Workspace; one that enrols for a Workspace which has an Agent takes its place; that is how Renew gives a machine a new key.
//
// Caveat: a token is known here only as its hash; who loses it makes another.
package agent

//go:generate go run holdfast/engine/guardgen
