// Package model keeps the Model configs and is the command room for the model server behind them.
//
// Room holds the commands; pages and the JSON API reach them through its Guarded form. Fields is what a person may set of a Model
// config, Nullable a field that JSON null empties. Resolve, Window, HalveWindow and EnsureConfigs are for the engine and check no
// rights.
//
// Configs of chat.ProviderOpenAI name servers of their own (AllowOthers). Their keys are sealed beside the record, go out through Key
// alone, and stay with their server: an address on another one drops them.
//
// A model server that is away is no error here: lists are then empty or old, and Status says why. Nothing in this room talks to
// the model server inside a transaction.
package model

//go:generate go run holdfast/engine/guardgen
