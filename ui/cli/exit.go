package cli

// Codes that the process ends with (operations.md 1).
const (
	// CodeDone: for serve, stopped gracefully.
	CodeDone = 0
	// CodeFailed: failed, refused by the other side, or stopped by force.
	CodeFailed = 1
	// CodeUsage: wrong usage or configuration.
	CodeUsage = 2
	// CodeNotFound: a Chat, user or file that is not there.
	CodeNotFound = 3
	// CodeNobody: no appliance answers.
	CodeNobody = 4
	// CodeInUse: the data directory belongs to another process.
	CodeInUse = 5
	// CodeDamaged and CodeNewer are about the store or an archive.
	CodeDamaged = 6
	CodeNewer   = 7
	// CodeRefused: refused for safety.
	CodeRefused = 8
	// CodeNoSpace: no space, or a read-only file system.
	CodeNoSpace = 9
	// CodeNeedsPerson: chat waits for an approval.
	CodeNeedsPerson = 10
	// CodeInterrupted: the Turn was interrupted.
	CodeInterrupted = 11
	// CodeCtrlC: a client command was ended by Ctrl-C.
	CodeCtrlC = 130
)

// Exit is an error that says how the process ends. An empty Message prints nothing.
type Exit struct {
	Code    int
	Message string
}

// Error gives the message.
func (e *Exit) Error() string { return e.Message }

func usage(message string) *Exit { return &Exit{Code: CodeUsage, Message: message} }
