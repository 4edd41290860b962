package view

// TemplatesPage are the templates of workspaces.
type TemplatesPage struct {
	Page      Page
	Note      ServerNote
	Templates []Template
	// New is the empty form, or one that was refused.
	New   Template
	Admin bool
}

// Template is what a new workspace can be made from. Element ids: tp-ID, and tf-ID of its form.
type Template struct {
	ID          string
	Name        string
	Description string
	// Kind is folder, clone or worktree. Facts are what else counts, in few words.
	Kind  string
	Facts string
	// Target is the agent beside which it is made, "" for this machine.
	Target string
	// Models: models may use it.
	Models bool
	Groups []FieldGroup
	// Problem is what was wrong with its form as a whole.
	Problem string
	Saved   bool
}

func (t Template) bad() bool {
	for _, g := range t.Groups {
		if g.bad() {
			return true
		}
	}
	return t.Problem != ""
}

func templateIcon(kind string) string {
	switch kind {
	case "clone":
		return "i-get"
	case "worktree":
		return "i-branch"
	}
	return "i-folder"
}
