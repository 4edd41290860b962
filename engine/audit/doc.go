// Package audit is the record of who did what, when and from where. Its nouns are chat.Audit (one record) and the chain that kv keeps
// them in: each holds the hash of the one before, and the head is logged once a day, so that a record that is removed or changed and a
// tail that is cut all show. Room lists, checks and logs it.
//
// What is recorded, and how another room adds to it:
//
//   - A command of a guarded room is recorded by its policy: all that admins alone may do to change something (AdminWrites), all that
//     changes what belongs to a person (SelfWrites), and what says so itself (Policy.Audited). Nobody has to remember it. account.Run
//     sends the record with the context, and the first commit under that context which changes something takes it along; a command
//     that changes nothing in the store is recorded when it has ended, one that was refused is not.
//   - A command says more about itself by chat.AuditOf(ctx): About(id) names what it made, Fact("tool", "shell") adds a word. Both go
//     before store.Update or into its function. An input with AuditFacts() gives the words that it holds (account.Facts).
//   - What is no command writes tx.AppendAudit(chat.AuditBy(ctx, who, chat.AuditToolRun, chatID)) in its own transaction, or gives the
//     record to Room.Note after the fact.
//
// Caveats: no secret, no text of a Chat and no argument of a Call goes into a record; an argument goes as its SHA-256, and nothing short
// enough to be guessed (a password) goes as a hash either. Whoever can write the store's file can make a whole new chain: only the heads in
// the log, or noted elsewhere, tell then (Check with Number and Hash).
package audit

//go:generate go run holdfast/engine/guardgen
