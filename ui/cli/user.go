package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

const userUsage = `holdfast user list [--json]
holdfast user add NAME [--role admin|member] [--json]
holdfast user role NAME admin|member
holdfast user password NAME [--none]
holdfast user disable|enable NAME
holdfast user remove NAME [--yes]

add prints a one-time login URL for the new person, alone on stdout. password reads the new one from stdin, on a terminal without
showing it; --none takes it away. remove deletes a disabled person with all their chats and asks first; without a terminal it needs --yes.
All take --data DIR or --server URL, which say where the appliance is.
`

// linkSeconds is how long the login URL of a new person works.
const linkSeconds = 600

// userCommand is what the flags of user say.
type userCommand struct {
	place
	role      string
	none, yes bool
	json      bool
	std       IO
}

// userVerb is one command of user, and how many arguments it takes.
type userVerb struct {
	run  func(*userCommand, context.Context, *client.Client, []string) error
	args int
}

func userVerbs() map[string]userVerb {
	return map[string]userVerb{
		"list":     {(*userCommand).list, 0},
		"add":      {(*userCommand).add, 1},
		"role":     {(*userCommand).setRole, 2},
		"password": {(*userCommand).password, 1},
		"disable":  {(*userCommand).disable, 1},
		"enable":   {(*userCommand).enable, 1},
		"remove":   {(*userCommand).remove, 1},
	}
}

func runUser(ctx context.Context, args []string, std IO) error {
	const names = "list, add, role, password, disable, enable, remove"
	if len(args) == 0 {
		return usage("user needs one of " + names)
	}
	name, args := args[0], args[1:]
	help := func() error {
		_, err := io.WriteString(std.Out, userUsage)
		return err
	}
	switch name {
	case "help", "-h", "--help", "-help":
		return help()
	}
	verb, known := userVerbs()[name]
	if !known {
		return usage("user has no command " + name + ", only " + names)
	}
	u := &userCommand{std: std}
	set := flag.NewFlagSet("user "+name, flag.ContinueOnError)
	u.flags(set)
	switch name {
	case "list":
		set.BoolVar(&u.json, "json", false, "")
	case "add":
		set.BoolVar(&u.json, "json", false, "")
		set.StringVar(&u.role, "role", "", "")
	case "password":
		set.BoolVar(&u.none, "none", false, "")
	case "remove":
		set.BoolVar(&u.yes, "yes", false, "")
	}
	rest, err := parse(set, args)
	if errors.Is(err, flag.ErrHelp) {
		return help()
	}
	if err != nil {
		return err
	}
	if len(rest) != verb.args {
		return usage(fmt.Sprintf("user %s takes %d arguments, got %d", name, verb.args, len(rest)))
	}
	c, err := u.connect()
	if err != nil {
		return u.failed("user "+name, err)
	}
	defer c.Close()
	return u.failed("user "+name, verb.run(u, ctx, c, rest))
}

// named finds a person by name, whatever its case.
func named(ctx context.Context, c *client.Client, name string) (client.User, error) {
	all, err := c.Users(ctx)
	if err != nil {
		return client.User{}, err
	}
	for _, u := range all {
		if strings.EqualFold(u.Name, name) {
			return u, nil
		}
	}
	return client.User{}, &Exit{Code: CodeNotFound, Message: "there is no user " + plain(name)}
}

func (u *userCommand) list(ctx context.Context, c *client.Client, _ []string) error {
	all, err := c.Users(ctx)
	if err != nil {
		return err
	}
	if u.json {
		return printJSON(u.std.Out, client.UserPage{Users: all})
	}
	w := tabwriter.NewWriter(u.std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tROLE\tSTATE\tPASSWORD\tADDED\tLAST SEEN")
	for _, p := range all {
		state, password := "enabled", "none"
		if p.Disabled {
			state = "disabled"
		}
		if p.HasPassword {
			password = "set"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", plain(p.Name), p.Role, state, password, day(&p.CreatedAt), day(p.LastSeen))
	}
	return w.Flush()
}

func (u *userCommand) add(ctx context.Context, c *client.Client, rest []string) error {
	made, err := c.CreateUser(ctx, client.UserCreate{Name: rest[0], Role: chat.UserRole(u.role)})
	if err != nil {
		return err
	}
	link, err := c.CreateLogin(ctx, client.LoginCreate{UserID: made.ID, LifetimeSeconds: linkSeconds})
	if err != nil {
		return err
	}
	if !u.json {
		_, err := fmt.Fprintln(u.std.Out, link.URL)
		return err
	}
	return printJSON(u.std.Out, struct {
		client.User
		URL       string      `json:"url"`
		ExpiresAt client.Time `json:"expires_at"`
	}{made, link.URL, link.ExpiresAt})
}

// change finds a person and changes them.
func change(ctx context.Context, c *client.Client, name string, to client.UserUpdate) error {
	p, err := named(ctx, c, name)
	if err != nil {
		return err
	}
	_, err = c.UpdateUser(ctx, p.ID, to)
	return err
}

func (u *userCommand) setRole(ctx context.Context, c *client.Client, rest []string) error {
	role := chat.UserRole(rest[1])
	return change(ctx, c, rest[0], client.UserUpdate{Role: &role})
}

func (u *userCommand) disable(ctx context.Context, c *client.Client, rest []string) error {
	on := true
	return change(ctx, c, rest[0], client.UserUpdate{Disabled: &on})
}

func (u *userCommand) enable(ctx context.Context, c *client.Client, rest []string) error {
	off := false
	return change(ctx, c, rest[0], client.UserUpdate{Disabled: &off})
}

func (u *userCommand) password(ctx context.Context, c *client.Client, rest []string) error {
	p, err := named(ctx, c, rest[0])
	if err != nil {
		return err
	}
	password := ""
	if !u.none {
		if password, err = readSecret(ctx, u.std, "New password of "+plain(p.Name)+": "); err != nil {
			return err
		}
		if password == "" {
			return usage("the password is empty; --none takes it away")
		}
	}
	_, err = c.UpdateUser(ctx, p.ID, client.UserUpdate{Password: &password})
	return err
}

func (u *userCommand) remove(ctx context.Context, c *client.Client, rest []string) error {
	p, err := named(ctx, c, rest[0])
	if err != nil {
		return err
	}
	if !u.yes {
		if !IsTerminal(u.std.In) || !IsTerminal(u.std.Err) {
			return usage("remove deletes all chats of " + plain(p.Name) + "; say --yes if that is meant")
		}
		fmt.Fprint(u.std.Err, "Delete "+plain(p.Name)+" with all their chats for good? [y/n] ")
		answer, err := readLine(ctx, u.std.In)
		if err != nil {
			return err
		}
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			return &Exit{Code: CodeFailed, Message: "nothing was deleted"}
		}
	}
	return c.DeleteUser(ctx, p.ID)
}
