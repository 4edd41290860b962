// Package kv is the cellar: the one durable store, on bbolt. It keeps the nouns of engine/chat and nothing else knows its bytes.
//
// Types: Store (open file, files directory and committer), Tx (what a function of Update or View sees; one file per noun holds its
// methods), EncodedMessage (a Message made ready outside the transaction), TermWriter (a segment of the term index in the making), Damage
// and DamageError (what a check or a read found broken), Salvage (what can be read of a store that is broken anywhere), DirLock (who owns a
// data directory).
//
// Writing. All writes go through one goroutine, the committer: it takes what waits, runs it in one bbolt transaction, syncs, answers.
// There is no timer. A function of Update may therefore run more than once, on another goroutine, and must only read its Tx and what it
// captured; load what is changed inside of it. A refusal (wrong state, stale fence, known key) is a value that the function leaves in a
// captured variable while it returns nil; an error costs the whole group a second run. Never call Update or View inside of either.
//
// Reading. View sees one snapshot. An open snapshot keeps pages from being used again, so read, leave, then render. Everything that a
// Tx gives is a copy.
//
// Indexes. Two are stored: Chats not at rest (pending ones by RunnableSince), because runners ask for them at every Acquire, and children
// by parent. Both are a handful of hot pages, move only when a Chat starts or rests, and need no scan at Open. The order of a person's
// list is not stored, because UpdatedAt moves with every transition: Chats scans the fixed heads of the Chat records, which is linear in
// the number of Chats, exact inside the transaction, and costs no page of any commit.
//
// Terms. The term index of a search stands here as immutable segments per person and a state per Chat; what the terms are, engine/search
// knows. It is derived: its blocks are binary, nothing that is acknowledged depends on them, and DropTerms may empty it at any time.
//
// Context. A Snapshot stands under its Workspace and the hash of its content, its files and skills beside it under theirs, so that one
// edited file costs one file. Which one is the newest is a record; which one a Chat pins, its record says, and an index that moves with it.
//
// Sums. A usage entry is added up in the same transaction, by person and day, and by person, day and family; the check holds sums and
// entries together. A sum that cannot be read is made anew by the next entry of its day.
//
// Ids are UUIDs in their 36 character form; anything else is refused. Raw JSON inside of records comes back compact (white space between
// tokens is lost), invalid UTF-8 comes back as U+FFFD, NUL bytes survive.
package kv
