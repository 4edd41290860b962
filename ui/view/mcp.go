package view

// MCPPage are the MCP servers that admins configure.
type MCPPage struct {
	Page    Page
	Note    ServerNote
	Servers []MCPServer
	// New is the empty form, or one that was refused.
	New   MCPServer
	Admin bool
}

// MCPServer is an MCP server on its page. Element ids: mcp-ID, and mf-ID of its form.
type MCPServer struct {
	ID          string
	Name        string
	Slug        string
	Description string
	// Address is where it stands, Facts are what else counts, in few words.
	Address, Facts string
	Enabled        bool
	// SignIn: each person signs in; SignedIn: the reader has.
	SignIn, SignedIn bool
	// Failure is why it could not be used last, with its time.
	Failure string
	Groups  []FieldGroup
	// Problem is what was wrong with its form as a whole.
	Problem string
	Saved   bool
	Test    MCPTest
	Tools   []MCPTool
	// Seen is when it last listed its tools, "" for never.
	Seen string
}

// badServer: something is wrong in its form.
func badServer(s MCPServer) bool {
	for _, g := range s.Groups {
		if g.bad() {
			return true
		}
	}
	return s.Problem != ""
}

// waitingTools counts tools that wait for an admin.
func waitingTools(s MCPServer) int {
	n := 0
	for _, t := range s.Tools {
		if t.Pin != "" {
			n++
		}
	}
	return n
}

// MCPTest is how the last test on this page went; zero is none.
type MCPTest struct {
	Done   bool
	OK     bool
	Reason string
	// Words say what was found.
	Words string
	Notes []string
}

// MCPTool is a tool of a server. With a Pin it waits: Diff is how it differs from what was accepted, or all of a new one.
type MCPTool struct {
	Name string
	New  bool
	Diff string
	Pin  string
}

// MCPOption is a server that a chat may have. A Forced one is in every chat.
type MCPOption struct {
	ID, Name, Hint string
	On, Forced     bool
}
