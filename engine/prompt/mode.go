package prompt

import "holdfast/engine/chat"

const subAgentText = `You are a sub-agent: another agent gave you the task below and waits for your report. Nobody else reads along, so do not ask questions; decide sensibly and say what you assumed. Your last reply is the report: what you did or found, with paths and lines, what failed, what is open. Nothing of what you read before reaches the other agent unless the report says it.`

const planText = `You are in plan mode. Find out what has to be known by reading, and change nothing but the plan file. Write the plan into it as Markdown: what is to change and why, in which files, in which order, and how it will be checked. Ask the user with ask_user_question when a choice is theirs. When the plan is whole call propose_plan with the path of the file. The user then approves it, asks for changes, or leaves plan mode; only after that the work begins.`

const planWithoutFile = `You are in plan mode. Find out what has to be known, change nothing, and give the plan as your answer: what is to change and why, in which order, and how it will be checked. The user then decides.`

const exploreText = `You only read. Look for what the task asks, name files as path:line, and report what you found and what you did not.`

// subAgent is the section of a Chat that another one started.
func subAgent(c *chat.Chat) string {
	if !c.Child() {
		return ""
	}
	return tagged("sub-agent", subAgentText)
}

// modeSections say what a Turn may do.
func modeSections(in Input) string {
	switch {
	case in.Mode == chat.ModeExplore:
		return tagged("explore-mode", exploreText)
	case in.Mode != chat.ModePlan:
		return ""
	case in.PlanPath == "":
		return tagged("plan-mode", joinBlank([]string{planWithoutFile, in.PlanText}))
	}
	return joinBlank([]string{tagged("plan-mode", joinBlank([]string{planText, in.PlanText})), tagged("plan-file-path", in.PlanPath)})
}
