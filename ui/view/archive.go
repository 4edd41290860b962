package view

import (
	"strconv"

	"github.com/a-h/templ"
)

// ArchivePage lists the chats that were archived.
type ArchivePage struct {
	Page Page
	Nav  Nav
	List Archived
}

// Archived is a part of the archive. Problem is the sentence of a list that could not be read; More how many to ask for next, 0 at its end.
type Archived struct {
	Rows    []ArchivedChat
	Problem string
	More    int
}

// ArchivedChat is one of it. Stopping: its last turn is still ending, so it cannot be deleted yet.
type ArchivedChat struct {
	ID       string
	Title    string
	Summary  string
	When     string
	Stopping bool
}

func archiveURL(listed int) string { return "/archive?listed=" + strconv.Itoa(listed) }

// deleteWords says what deleting a chat takes away.
const deleteWords = "Its messages, and the chats that it started, are removed for good. Files in the workspace stay as they are."

// exportURL is a route of the API, which takes the page's cookie too.
func exportURL(chatID, format string) templ.SafeURL {
	return templ.SafeURL("/api/v1/chats/" + chatID + "/export?format=" + format)
}
