package view

type startPrompt struct{ Icon, Text, Note string }

// startPrompts fit any folder with source code.
var startPrompts = [...]startPrompt{
	{"i-search", "Explain how this repository is put together", "reads only"},
	{"i-edit", "Review the changes that are not yet committed", "runs git diff"},
	{"i-term", "Run the tests and say why the failing ones fail", "runs commands"},
}
