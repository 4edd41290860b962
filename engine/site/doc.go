// Package site holds what an admin configures for the whole appliance and no other room owns: the advisor, the classifier, the
// summaries of Turns, how Turns go, and what models are told in plan mode.
//
// Room holds the commands; pages and the JSON API reach them through its Guarded form. ReadAdvisor and its like read a value in a
// transaction, for the engine at the beginning of a Turn.
//
// Caveats: a value is stored whole; what a person leaves out is its default, not what stood there before. Everybody reads, admins write.
package site

//go:generate go run holdfast/engine/guardgen
