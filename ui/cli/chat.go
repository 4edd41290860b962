package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

const chatUsage = `holdfast chat [flags] [PROMPT|-]

Sends a prompt and prints the answer as it comes; tools are named on stderr. Without PROMPT it is read from stdin.

  --chat ID            go on with this chat
  --workspace ID|DIR   let the tools work in this workspace, or in this folder
  --trust              run commands in that folder without asking
  --plan, --work       let the model only write a plan for you, or work again
  --model NAME         the model, as the models page names it
  --json               print the events of the chat stream, one per line
  --data DIR, --server URL
                       where the appliance is

The first Ctrl-C interrupts the turn, the second leaves. Questions, plans and approvals are
answered on the terminal. Exit code 10: a person is needed and there is none; 11: the turn was interrupted.
`

// maxPrompt is what a Message may hold, in bytes, and one to see that there is more.
const maxPrompt = 1<<20 + 1

// chatCommand is what the flags of chat say.
type chatCommand struct {
	place
	chat, workspace, model string
	trust, json            bool
	plan, work             bool
	std                    IO
}

func runChat(ctx context.Context, args []string, std IO) error {
	c := chatCommand{std: std}
	set := flag.NewFlagSet("chat", flag.ContinueOnError)
	c.flags(set)
	set.StringVar(&c.chat, "chat", "", "")
	set.StringVar(&c.workspace, "workspace", "", "")
	set.StringVar(&c.model, "model", "", "")
	set.BoolVar(&c.trust, "trust", false, "")
	set.BoolVar(&c.plan, "plan", false, "")
	set.BoolVar(&c.work, "work", false, "")
	set.BoolVar(&c.json, "json", false, "")
	rest, err := parse(set, args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(std.Out, chatUsage)
		return err
	}
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return usage("chat takes one prompt; put it in quotes")
	}
	if c.trust && c.workspace == "" {
		return usage("--trust needs --workspace")
	}
	if c.plan && c.work {
		return usage("--plan and --work exclude each other")
	}
	prompt, err := c.prompt(rest)
	if err != nil {
		return err
	}
	api, err := c.connect()
	if err != nil {
		return c.failed("chat", err)
	}
	defer api.Close()
	f, err := c.begin(ctx, api, prompt)
	if err != nil {
		return c.failed("chat", err)
	}
	return c.failed("chat "+string(f.id), f.run(ctx))
}

// prompt is the argument, or stdin.
func (c *chatCommand) prompt(rest []string) (string, error) {
	if len(rest) == 1 && rest[0] != "-" {
		if strings.TrimSpace(rest[0]) == "" {
			return "", usage("the prompt is empty")
		}
		return rest[0], nil
	}
	b, err := io.ReadAll(io.LimitReader(c.std.In, maxPrompt))
	if err != nil {
		return "", fmt.Errorf("read the prompt: %w", err)
	}
	if len(b) == maxPrompt {
		return "", usage("the prompt is larger than 1 MiB; put it into a file of the workspace")
	}
	if strings.TrimSpace(string(b)) == "" {
		return "", usage("there is no prompt, neither as an argument nor on stdin")
	}
	return string(b), nil
}

// begin sends the prompt and gives what follows it.
func (c *chatCommand) begin(ctx context.Context, api *client.Client, prompt string) (*follower, error) {
	workspace, err := c.workspaceID(ctx, api)
	if err != nil {
		return nil, err
	}
	model, err := c.modelID(ctx, api)
	if err != nil {
		return nil, err
	}
	f := newFollower(c, api)
	if c.chat == "" {
		made, err := api.CreateChat(ctx, client.ChatCreate{Content: client.Text(prompt), WorkspaceID: workspace, ModelConfigID: model,
			PlanMode: c.mode()})
		if err != nil {
			return nil, err
		}
		f.id = made.ID
		return f, f.note("chat " + string(made.ID))
	}
	f.id = chat.ID(c.chat)
	if workspace != "" {
		if err := api.UpdateChat(ctx, f.id, client.ChatUpdate{WorkspaceID: &workspace}); err != nil {
			return nil, err
		}
	}
	// What was said before is not printed again; a queued Message has no place in the history yet.
	newest, err := api.Messages(ctx, f.id, client.MessageQuery{Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(newest.Messages) > 0 {
		f.after = newest.Messages[0].ID
	}
	send := client.MessageSend{Content: client.Text(prompt), ModelConfigID: model}
	if c.plan || c.work {
		mode := c.mode()
		send.PlanMode = &mode
	}
	sent, err := api.Send(ctx, f.id, send)
	if err != nil {
		return nil, err
	}
	if sent.Queued {
		f.queued = sent.QueuedMessage.ID
		return f, f.note("queued behind what the chat is doing")
	}
	f.after = sent.Message.ID
	return f, nil
}

// mode is the plan mode that the flags ask for.
func (c *chatCommand) mode() string {
	if c.plan {
		return string(chat.ModePlan)
	}
	return ""
}

// workspaceID finds the workspace by its id, or adds the folder.
func (c *chatCommand) workspaceID(ctx context.Context, api *client.Client) (chat.WorkspaceID, error) {
	if c.workspace == "" {
		return "", nil
	}
	var w client.Workspace
	var err error
	if isUUID(c.workspace) {
		w, err = api.Workspace(ctx, chat.WorkspaceID(c.workspace))
	} else {
		dir, absent := filepath.Abs(c.workspace)
		if absent != nil {
			return "", absent
		}
		w, err = api.CreateWorkspace(ctx, client.WorkspaceCreate{Directory: dir, Trusted: c.trust})
	}
	if err == nil && c.trust && !w.Trusted {
		trusted := true
		w, err = api.UpdateWorkspace(ctx, w.ID, client.WorkspaceUpdate{Trusted: &trusted})
	}
	return w.ID, err
}

// modelID finds a Model config by its name or by its model's.
func (c *chatCommand) modelID(ctx context.Context, api *client.Client) (chat.ModelConfigID, error) {
	if c.model == "" {
		return "", nil
	}
	all, err := api.Models(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, m := range all {
		if strings.EqualFold(m.Name, c.model) || strings.EqualFold(strings.TrimSuffix(m.Model, ":latest"), strings.TrimSuffix(c.model, ":latest")) {
			return m.ID, nil
		}
		names = append(names, plain(m.Name))
	}
	return "", &Exit{Code: CodeNotFound, Message: "there is no model " + c.model + "; there are: " + strings.Join(names, ", ")}
}

// isUUID: ids have this form, and no folder that anybody works in does.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, r := range s {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if r != '-' {
				return false
			}
		} else if !strings.ContainsRune("0123456789abcdef", r) {
			return false
		}
	}
	return true
}
