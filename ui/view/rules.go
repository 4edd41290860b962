package view

import (
	"strconv"

	"github.com/a-h/templ"
)

// RulesPage are the permission rules of the site, a workspace or a chat. Here is the address of the settings page that it belongs to.
type RulesPage struct {
	Page  Page
	Note  ServerNote
	Here  string
	Title string
	Lead  string
	// Back leads to what the rules are about, with the words of BackText; "" for the site's.
	Back     string
	BackText string
	Form     RulesForm
}

// RulesForm is the list as it is being edited. Post takes it; Dirty: it is not what is stored. Patch target #rules.
type RulesForm struct {
	Post    string
	Fixed   bool
	Default string
	Rules   []RuleRow
	Errors  map[string]string
	Dirty   bool
	Saved   bool
	// Rev counts the answers: what a reader chose in a row must not stay behind for the row that follows it. Focus is the row, and the part
	// of it, that the keyboard goes to, "" for none.
	Rev   int
	Focus string
	// Try is what was tried, Tried what would become of it.
	Try   RuleTry
	Tried *RuleTried
}

// RuleRow is one rule; What is "", path or command. Error is what is wrong with it.
type RuleRow struct {
	Effect string
	Tool   string
	What   string
	Text   string
	Error  string
}

// RuleTry is a call that is tried.
type RuleTry struct{ Tool, Text string }

// RuleTried is what would become of it.
type RuleTried struct {
	Effect string
	Rule   string
	From   string
	Why    string
	Target string
	// Problem is set instead when it could not be tried.
	Problem string
}

var ruleEffects = []Option{{Value: "allow", Label: "Allow"}, {Value: "ask", Label: "Ask"}, {Value: "deny", Label: "Deny"}}

var ruleKinds = []Option{{Value: "", Label: "all calls"}, {Value: "path", Label: "paths"}, {Value: "command", Label: "commands"}}

var ruleDefaults = []Option{{Value: "standard", Label: "What Holdfast does by itself"}, {Value: "ask", Label: "Ask"}, {Value: "deny", Label: "Deny"}, {Value: "allow", Label: "Allow"}}

var ruleTryTools = []Option{{Value: "execute", Label: "Run a command"}, {Value: "read_file", Label: "Read a path"}, {Value: "write_file", Label: "Write a path"},
	{Value: "list_files", Label: "List a path"}, {Value: "search_files", Label: "Search a path"}}

func (f RulesForm) id(n int, part string) string {
	return "rule-" + strconv.Itoa(f.Rev) + "-" + strconv.Itoa(n) + "-" + part
}

// RulePart names a part of a row, for RulesForm.Focus.
func RulePart(n int, part string) string { return strconv.Itoa(n) + "-" + part }

// focused moves the keyboard to where the reader goes on.
func (f RulesForm) focused(n int, part string) templ.Attributes {
	if f.Focus != RulePart(n, part) {
		return nil
	}
	return templ.Attributes{"data-init": "el.focus()"}
}

func ruleLabel(n int, what string) string { return what + " of rule " + strconv.Itoa(n+1) }

// triedWords says what would become of a call.
func triedWords(t RuleTried) string {
	switch t.Effect {
	case "allow":
		return "It runs unasked"
	case "deny":
		return "It is denied"
	}
	return "A person is asked"
}

func triedIcon(t RuleTried) (glyph, tone string) {
	switch t.Effect {
	case "allow":
		return "i-check", "ok"
	case "deny":
		return "i-skip", "danger"
	}
	return "i-wait", "warn"
}
