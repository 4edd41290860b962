// Package ui serves the web interface: documents (GET), intents (POST, answered with 204 or the patch of an error line), and the one
// stream of patches of each page.
//
// Site holds the handlers; Routes is their table, in the words of ui/view. present*.go turn what the engine gives into view models,
// frame.go writes the stream. The JSON API is ui/api, what stands in front of all routes is ui/gate.
package ui
