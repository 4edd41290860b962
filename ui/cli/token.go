package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

const tokenUsage = `holdfast token create --name LABEL [--user NAME] [--expires 720h] [--read-only] [--json]
holdfast token list [--user NAME] [--json]
holdfast token revoke ID [--user NAME]
holdfast token login [--user NAME] [--expires 60s] [--json]
holdfast token enrol WORKSPACE [--json]

enrol prints a token with which one agent may enrol for a workspace, by its name or id; one that is new is made. It is good once, for an
hour, and the command that takes it is said on stderr. create prints the new token and login a one-time login URL, alone on stdout. Without --user they are the owner's.
All take --data DIR or --server URL, which say where the appliance is.
`

// tokenCommand is what the flags of token say.
type tokenCommand struct {
	place
	user, name string
	expires    time.Duration
	readOnly   bool
	json       bool
	out        io.Writer
}

func runToken(ctx context.Context, args []string, std IO) error {
	if len(args) == 0 {
		return usage("token needs one of create, list, revoke, login, enrol")
	}
	verb, args := args[0], args[1:]
	t := tokenCommand{out: std.Out}
	set := flag.NewFlagSet("token "+verb, flag.ContinueOnError)
	t.flags(set)
	set.StringVar(&t.user, "user", "", "")
	var run func(context.Context, *client.Client, chat.UserID, []string) error
	want := 0
	switch verb {
	case "create":
		set.StringVar(&t.name, "name", "", "")
		set.DurationVar(&t.expires, "expires", 0, "")
		set.BoolVar(&t.readOnly, "read-only", false, "")
		run = t.create
	case "list":
		run = t.list
	case "revoke":
		run, want = t.revoke, 1
	case "login":
		set.DurationVar(&t.expires, "expires", 0, "")
		run = t.login
	case "enrol":
		run, want = func(ctx context.Context, c *client.Client, _ chat.UserID, rest []string) error {
			return t.enrol(ctx, c, rest[0], std.Err)
		}, 1
	case "help", "-h", "--help", "-help":
		_, err := io.WriteString(std.Out, tokenUsage)
		return err
	default:
		return usage("token has no command " + verb + ", only create, list, revoke, login, enrol")
	}
	if verb != "revoke" {
		set.BoolVar(&t.json, "json", false, "")
	}
	rest, err := parse(set, args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(std.Out, tokenUsage)
		return err
	}
	if err != nil {
		return err
	}
	if len(rest) != want {
		return usage(fmt.Sprintf("token %s takes %d arguments, got %d", verb, want, len(rest)))
	}
	if verb == "create" && strings.TrimSpace(t.name) == "" {
		return usage("token create needs --name, which says what the token is for")
	}
	if t.expires < 0 {
		return usage("--expires must be positive")
	}
	return t.run(ctx, "token "+verb, rest, run)
}

// run connects, finds the user and runs the command.
func (t *tokenCommand) run(ctx context.Context, doing string, rest []string,
	command func(context.Context, *client.Client, chat.UserID, []string) error) error {
	c, err := t.connect()
	if err != nil {
		return t.failed(doing, err)
	}
	defer c.Close()
	user, err := t.userID(ctx, c)
	if err == nil {
		err = command(ctx, c, user, rest)
	}
	return t.failed(doing, err)
}

// userID finds a person by name; "" is whom the token belongs to.
func (t *tokenCommand) userID(ctx context.Context, c *client.Client) (chat.UserID, error) {
	if t.user == "" {
		return "", nil
	}
	u, err := named(ctx, c, t.user)
	return u.ID, err
}

func (t *tokenCommand) create(ctx context.Context, c *client.Client, user chat.UserID, _ []string) error {
	in := client.TokenCreate{UserID: user, Name: t.name, ReadOnly: t.readOnly}
	if t.expires > 0 {
		in.ExpiresAt = &client.Time{Time: time.Now().Add(t.expires)}
	}
	made, err := c.CreateToken(ctx, in)
	if err != nil {
		return err
	}
	if !t.json {
		_, err := fmt.Fprintln(t.out, made.Token)
		return err
	}
	return t.printJSON(struct {
		ID        chat.TokenID `json:"id"`
		Token     string       `json:"token"`
		User      string       `json:"user"`
		Name      string       `json:"name"`
		ExpiresAt *client.Time `json:"expires_at"`
	}{made.ID, made.Token, made.User, made.Name, made.ExpiresAt})
}

func (t *tokenCommand) login(ctx context.Context, c *client.Client, user chat.UserID, _ []string) error {
	made, err := c.CreateLogin(ctx, client.LoginCreate{UserID: user, LifetimeSeconds: int((t.expires + time.Second - 1) / time.Second)})
	if err != nil {
		return err
	}
	if !t.json {
		_, err := fmt.Fprintln(t.out, made.URL)
		return err
	}
	return t.printJSON(made)
}

func (t *tokenCommand) revoke(ctx context.Context, c *client.Client, user chat.UserID, rest []string) error {
	return c.RevokeToken(ctx, user, chat.TokenID(rest[0]))
}

func (t *tokenCommand) list(ctx context.Context, c *client.Client, user chat.UserID, _ []string) error {
	all, err := c.Tokens(ctx, user)
	if err != nil {
		return err
	}
	if t.json {
		return t.printJSON(client.TokenPage{Tokens: all})
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tACCESS\tCREATED\tEXPIRES\tLAST USED")
	for _, k := range all {
		access := "full"
		if k.ReadOnly {
			access = "read-only"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, plain(k.Name), access, day(&k.CreatedAt), day(k.ExpiresAt), day(k.LastUsed))
	}
	return w.Flush()
}

func day(t *client.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

func (t *tokenCommand) printJSON(v any) error { return printJSON(t.out, v) }

func printJSON(to io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = to.Write(append(b, '\n'))
	return err
}

// enrol makes a token for the Agent of a Workspace beside one, or of a new one of that name.
func (t *tokenCommand) enrol(ctx context.Context, c *client.Client, workspace string, notes io.Writer) error {
	in := client.EnrolmentCreate{Name: workspace}
	all, err := c.Workspaces(ctx)
	if err != nil {
		return err
	}
	for _, w := range all {
		switch {
		case string(w.ID) != workspace && w.Name != workspace:
		case w.Kind != chat.WorkspaceAgent:
			return &Exit{Code: CodeFailed, Message: fmt.Sprintf("token enrol: %s is a folder of the appliance's own machine; it needs no agent", w.Name)}
		case in.WorkspaceID != "":
			return &Exit{Code: CodeUsage, Message: fmt.Sprintf("token enrol: several workspaces are called %s; give the id", workspace)}
		default:
			in = client.EnrolmentCreate{WorkspaceID: w.ID}
		}
	}
	made, err := c.Enrol(ctx, in)
	if err != nil {
		return err
	}
	if t.json {
		return t.printJSON(made)
	}
	if _, err := fmt.Fprintln(t.out, made.Token); err != nil {
		return err
	}
	_, err = fmt.Fprintf(notes, "Good once, until %s. On the machine with the files, in their folder:\n%s\n", made.ExpiresAt.Local().Format("15:04"), made.Command)
	return err
}
