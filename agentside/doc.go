// Package agentside opens the Workspaces of this machine: the directories where Tools act.
//
// Workspaces implements chat.Workspaces. It refuses directories that hold or lie in what is the appliance's own, gives each
// Workspace its Files (package files), Processes (package proc) and Context (package wctx), and at Close ends all processes and
// contexts of all of them.
//
// Caveats: a Workspace is local here; its commands run with the rights of the appliance, so what is refused to Files is not
// out of a command's reach.
package agentside
