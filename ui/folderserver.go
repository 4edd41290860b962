package ui

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"holdfast/engine/chat"
	"holdfast/engine/snapshot"
	"holdfast/ui/gate"
	"holdfast/ui/text"
	"holdfast/ui/view"
)

// approveServer lets an MCP server of a Workspace start as it was shown, or accepts a tool of it that changed.
func (s *Site) approveServer(w http.ResponseWriter, r *http.Request) {
	in := snapshot.ApproveServerInput{ID: chat.WorkspaceID(r.PathValue("id")), Name: r.FormValue("name"), Tool: r.FormValue("tool")}
	err := in.Hash.UnmarshalText([]byte(r.FormValue("hash")))
	if err != nil {
		err = chat.NotFound("MCP server")
	} else {
		_, err = s.o.Contexts.ApproveServer(r.Context(), gate.Principal(r.Context()), in)
	}
	s.done(w, r, err)
}

// refuseServer keeps an MCP server of a Workspace from starting as it was shown, and ends it if it runs.
func (s *Site) refuseServer(w http.ResponseWriter, r *http.Request) {
	in := snapshot.RefuseServerInput{ID: chat.WorkspaceID(r.PathValue("id")), Name: r.FormValue("name")}
	err := in.Hash.UnmarshalText([]byte(r.FormValue("hash")))
	if err != nil {
		err = chat.NotFound("MCP server")
	} else {
		_, err = s.o.Contexts.RefuseServer(r.Context(), gate.Principal(r.Context()), in)
	}
	s.done(w, r, err)
}

// serverViews are the MCP servers of a Workspace's files, those that wait for a person first.
func serverViews(v snapshot.View) []view.FolderServer {
	var waiting, others []view.FolderServer
	for _, s := range v.Servers {
		one := serverView(v.Workspace.Directory, s)
		if one.Said == view.Waits {
			waiting = append(waiting, one)
		} else {
			others = append(others, one)
		}
	}
	return append(waiting, others...)
}

func serverView(directory string, s chat.Server) view.FolderServer {
	out := view.FolderServer{Name: s.Name, Config: below(directory, s.Config), Status: string(s.Status), Problem: s.Error, Entry: entryText(s.Entry)}
	known := s.Hash != chat.Hash{}
	if known {
		out.Hash = s.Hash.String()
	}
	switch {
	case !known:
	case s.Approved:
		out.Said = view.Approved
	case s.Refused:
		out.Said, out.Problem = view.Refused, ""
	case s.Status == chat.ResourceExcluded:
		out.Said, out.Problem = view.Waits, ""
	}
	if s.Status == chat.ResourceUnreadable && s.Approved && strings.Contains(s.Error, "being connected") {
		out.Status = "connecting"
	}
	if s.Before != nil {
		out.Changed = true
		out.Difference = difference(s.Name, entryText(*s.Before), entryText(s.Entry))
		if s.Before.Values != s.Entry.Values {
			out.Notes = append(out.Notes, "A value of a variable or header has changed too. Values are not shown.")
		}
	}
	switch {
	case s.Sandbox == nil && s.Entry.URL != "":
		out.Notes = append(out.Notes, "It runs on another machine: what the model sends to it leaves this one.")
	case s.Sandbox != nil && s.Sandbox.Full():
		out.Notes = append(out.Notes, "It runs in the sandbox: no network, and it writes in this folder only.")
	case s.Sandbox != nil && len(s.Sandbox.Open) > 0:
		out.Notes = append(out.Notes, "What is open to it in spite of the sandbox: "+strings.Join(s.Sandbox.Open, ", ")+".")
	}
	for _, t := range s.Tools {
		out.Tools = append(out.Tools, view.FolderTool{Name: t.Name, About: t.Description})
	}
	for _, c := range s.Changed {
		out.ChangedTools = append(out.ChangedTools, view.FolderTool{Name: c.Name, Hash: c.Hash.String(),
			Difference: difference(c.Name, toolText(c.Before), toolText(c.Now))})
	}
	return out
}

// entryText is all of an entry that a person approves, a line for each part, with what is not seen made visible.
func entryText(e chat.ServerEntry) string {
	var b strings.Builder
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-9s %s\n", label, strings.ReplaceAll(text.Reveal(value), "\n", "⏎"))
		}
	}
	line("type", e.Transport)
	line("command", e.Command)
	for _, a := range e.Args {
		line("argument", a)
	}
	line("url", e.URL)
	line("in", e.Dir)
	line("variables", strings.Join(e.Env, ", "))
	line("headers", strings.Join(e.Headers, ", "))
	line("takes in", strings.Join(e.Variables, ", "))
	for _, f := range e.Files {
		line("runs", f.Path+" sha256:"+f.Hash.String()[:16])
	}
	return b.String()
}

func toolText(t chat.ResourceTool) string {
	return text.Reveal(t.Description) + "\n" + text.Reveal(string(t.InputSchema)) + "\n"
}

func difference(name, before, now string) []text.DiffFile {
	return text.Diff(name, udiff.Unified(name, name, before, now))
}

// hiddenWords say what stands behind find_tools; "" for nothing.
func hiddenWords(h *chat.HiddenTools) string {
	if h == nil {
		return ""
	}
	var parts []string
	for _, s := range h.Servers {
		parts = append(parts, fmt.Sprintf("%d of %s", s.Tools, s.Name))
	}
	return strings.Join(parts, ", ") + ". Each request is " + view.Bytes(h.SavedBytes) + " smaller for it."
}
