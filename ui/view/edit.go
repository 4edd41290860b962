package view

import (
	"encoding/json"
	"strings"
)

// Edit is a user Message that is written anew. Queued is how many waiting messages go back to the composer, Refs how many files and
// ranges of lines stay with it.
type Edit struct {
	ID     int64
	ChatID string
	Text   string
	Key    string
	Queued int
	Refs   int
}

// editWords says what sending does.
func editWords(e Edit) string {
	out := "Takes the place of this message and of all below it. Changed files stay as they are."
	if e.Refs > 0 {
		out += " The lines and files named with it stay."
	}
	if e.Queued > 0 {
		out += " The queue comes back into the composer."
	}
	return out
}

// QueueEdit is a queued Message that is written anew. Refs is how many files and ranges of lines stay with it,
// FileIDs are the ids of the files with spaces between.
type QueueEdit struct {
	ID      int64
	ChatID  string
	Text    string
	Refs    int
	FileIDs string
	// Named are the paths of files that it names.
	Named []string
}

// named gives the paths as the page's script reads them.
func (e QueueEdit) named() string {
	b, err := json.Marshal(e.Named)
	if err != nil || len(e.Named) == 0 {
		return "[]" // strings always encode
	}
	return string(b)
}

// queueEditWords says what saving does.
func queueEditWords(e QueueEdit) string {
	if e.Refs > 0 {
		return "Keeps its place, and the lines and files named with it."
	}
	return "Keeps its place."
}

func messageURL(chatID string, message int64) string {
	return "/chats/" + chatID + id("/messages/", message)
}

// typed is a text as a field can hold it.
func typed(s string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\u2400").Replace(s)
}
