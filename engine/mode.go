package engine

import (
	"encoding/json"
	"path"
	"path/filepath"
	"strings"

	"holdfast/engine/chat"
)

// Names of the Tools that act on Chats, and of the file and command Tools that modes treat by name.
const (
	toolQuestion = "ask_user_question"
	toolPlan     = "propose_plan"
	toolSpawn    = "spawn_agent"
	toolWait     = "wait_agent"
	toolTell     = "message_agent"
	toolClose    = "close_agent"
	toolAdvisor  = "advisor"

	toolExecute = "execute"
	toolOutput  = "process_output"
)

// planTools are active in plan mode beside those that only read.
var planTools = map[string]bool{"write_file": true, "edit_files": true, toolPlan: true, toolQuestion: true, toolSpawn: true, toolWait: true,
	toolExecute: true, toolOutput: true, "read_skill": true, "read_skill_file": true, toolAdvisor: true}

// rootTools are those that a Sub-agent never has.
var rootTools = map[string]bool{toolPlan: true, toolQuestion: true, toolSpawn: true, toolWait: true, toolTell: true, toolClose: true,
	toolTemplates: true, toolMake: true}

// allows says whether a Tool is active in this Turn: it is then offered, and only then it runs.
func (t *turn) allows(d chat.ToolDef) bool {
	if rootTools[d.Name] && t.chat.Child() {
		return false
	}
	reads := d.Effect == chat.ClassRead && d.Name != toolGive
	switch t.extra.mode {
	case chat.ModeExplore:
		return reads && !rootTools[d.Name]
	case chat.ModePlan:
		return reads || planTools[d.Name] || d.InPlan
	}
	return d.Name != toolPlan
}

// elsewhere is why a Call must not run in plan mode: it names another file than the plan. "" lets it through; what the names lead to is
// looked at again when the Call says which files it changes.
func (t *turn) elsewhere(p *planned) string {
	if t.extra.mode != chat.ModePlan || p.def.Effect != chat.ClassChecked {
		return ""
	}
	names := pathsOf(p.call.Args)
	for _, name := range names {
		if t.relative(name) != chat.PlanPath(t.chat.ID) {
			return t.onlyThePlan()
		}
	}
	if len(names) == 0 {
		return t.onlyThePlan()
	}
	return ""
}

func (t *turn) onlyThePlan() string {
	return "In plan mode only the plan file may be written: " + chat.PlanPath(t.chat.ID) + ". Nothing was changed."
}

// stays says whether a Call that is about to run changes nothing but the plan, links resolved.
func (t *turn) stays(changes []chat.FileChange) error {
	if t.extra.mode != chat.ModePlan {
		return nil
	}
	for _, c := range changes {
		if filepath.ToSlash(c.Path) != chat.PlanPath(t.chat.ID) {
			return &chat.Error{Kind: chat.KindForbidden, Message: t.onlyThePlan()}
		}
	}
	return nil
}

// relative gives a name as it stands below the Workspace's directory.
func (t *turn) relative(name string) string {
	if t.record != nil && filepath.IsAbs(name) {
		if rel, err := filepath.Rel(t.record.Directory, name); err == nil {
			name = rel
		}
	}
	return path.Clean(filepath.ToSlash(name))
}

// pathsOf gives the files that arguments name: path, or those of files.
func pathsOf(args json.RawMessage) []string {
	var in struct {
		Path  *string
		Files json.RawMessage
	}
	if json.Unmarshal(args, &in) != nil {
		return nil
	}
	var out []string
	if in.Path != nil {
		out = append(out, *in.Path)
	}
	type file struct{ Path string }
	var many []file
	var one file
	switch {
	case len(in.Files) == 0:
	case json.Unmarshal(in.Files, &many) == nil:
		for _, f := range many {
			out = append(out, f.Path)
		}
	case json.Unmarshal(in.Files, &one) == nil:
		out = append(out, one.Path)
	}
	return out
}

// checkMode refuses a plan mode that there is not.
func checkMode(mode *string) error {
	if mode != nil && *mode != "" && *mode != string(chat.ModePlan) {
		return chat.Invalid("plan_mode", `It must be "" or "plan".`)
	}
	return nil
}

// asking is what a Step's successful Calls ask a person; nil for nothing.
func asking(plan []planned, results []*chat.Part) *chat.Asking {
	for i := range plan {
		if kind := plan[i].def.Asks; kind != "" && results[i] != nil && !results[i].IsError {
			return &chat.Asking{Kind: kind, CallID: plan[i].call.ID}
		}
	}
	return nil
}

// planPath is what the prompt says about the plan file; "" outside of plan mode, and without a place for it.
func (t *turn) planPath() string {
	if t.extra.mode != chat.ModePlan || t.workspace == nil {
		return ""
	}
	return chat.PlanPath(t.chat.ID)
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
