package ui

import (
	"encoding/json"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/chat"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// agentsView are the sub-agents of a root Chat that are at work, and what they ask.
func agentsView(v engine.View) view.Agents {
	var out view.Agents
	for _, c := range v.Children {
		if c.State.AtRest() || c.Archived {
			continue
		}
		a := view.Agent{ID: string(c.ID), Title: c.Title, State: view.ChatRunning, Out: "running", Since: c.Turn.StartedAt.UnixMilli()}
		switch c.State {
		case chat.Pending:
			a.Out = "waits for a free runner"
		case chat.Interrupting:
			a.Out = "stopping"
		case chat.RequiresAction:
			a.State, a.Out = view.ChatWaiting, "waits for you"
		}
		if c.AgentType == chat.AgentExplore {
			a.Kind = "only reads"
		}
		for _, o := range c.Outstanding {
			if o.Kind == chat.OutstandingApproval && o.Decision == "" {
				card := approvalOf(c, v.Workspace, o)
				card.Agent = c.Title
				a.Cards = append(a.Cards, *card)
			}
		}
		out.List = append(out.List, a)
	}
	return out
}

// familyMark changes whenever a page of the Chat has to show its sub-agents anew.
func familyMark(v engine.View) string {
	var b strings.Builder
	for _, c := range v.Children {
		if !c.State.AtRest() {
			b.WriteString(string(c.ID) + strconv.FormatInt(c.Version, 10) + " ")
		}
	}
	return b.String()
}

func parentView(c *chat.Chat) *view.Parent {
	if c == nil {
		return nil
	}
	return &view.Parent{ID: string(c.ID), Title: c.Title}
}

// agentRow describes a Call of the Tools that act on sub-agents; children name those that a Call gives by id.
func agentRow(tool string, raw json.RawMessage) (row view.Row, ok bool) {
	var a struct {
		Prompt, Title, Type, Message string
		ChatID                       string `json:"chat_id"`
	}
	if json.Unmarshal(raw, &a) != nil {
		a.ChatID = ""
	}
	row = view.Row{Kind: view.RowAgent, Target: a.ChatID}
	switch tool {
	case "spawn_agent":
		row.Target = oneLine(a.Prompt)
		if a.Title != "" {
			row.Target = a.Title
		}
		if a.Type == string(chat.AgentExplore) {
			row.In = "only reads"
		}
	case "wait_agent":
		row.In = "wait for the report"
	case "message_agent":
		row.In = oneLine(a.Message)
	case "close_agent":
		row.In = "stop"
	default:
		return view.Row{}, false
	}
	return row, true
}

// agentResult fills in what came of such a Call.
func agentResult(r *view.Row, p *chat.Part) {
	var d chat.AgentDetail
	if !detail(p, &d) {
		return
	}
	r.Target = d.Title
	switch {
	case p.ToolName == "spawn_agent":
		r.Out = "started"
	case d.TimedOut:
		r.Out = "still " + strings.ReplaceAll(string(d.Status), "_", " ")
	case p.ToolName == "wait_agent" && d.Report != "":
		r.Out = "reported"
	case p.ToolName == "wait_agent":
		r.Out = "no report"
	case p.ToolName == "close_agent":
		r.Out = "stopped"
	default:
		r.Out = "sent"
	}
}

// agentBody is what an opened row shows of a sub-agent: its report and the way to it.
func agentBody(d chat.AgentDetail) view.Body {
	return view.Body{Prose: text.Prose(d.Report), Href: "/chats/" + string(d.ChatID), HrefText: "Open the sub-agent"}
}
