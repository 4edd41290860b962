package search

import "holdfast/engine/account"

// A search is over the principal's own Chats, whoever asks.
var policySearch = account.Anyone[SearchInput]()
