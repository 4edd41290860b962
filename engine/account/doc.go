// Package account owns people and what lets them in: users, API tokens, browser sessions, one-time login codes; and the one
// question of who may do what.
//
// Room holds the commands (generated into Guarded, which is what ui calls) and what the gate in front of all routes uses by
// itself: Authenticate, RedeemLogin, SignOut, Bind. Guard and Run stand before every command of every room; a Policy says what a
// command demands, and authorize decides all of them.
//
// Caveats: texts of tokens, cookies and codes exist only in the answer that shows them, the store has their SHA-256. The last use
// of a credential is written at most every few minutes and lives in memory between. Someone else's thing and a thing that does
// not exist give the same KindNotFound, to admins too.
package account

//go:generate go run holdfast/engine/guardgen
