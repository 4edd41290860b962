package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// place says which appliance a command speaks to.
type place struct{ data, server string }

func (p *place) flags(set *flag.FlagSet) {
	set.StringVar(&p.data, "data", DefaultData(), "")
	set.StringVar(&p.server, "server", os.Getenv("HOLDFAST_SERVER"), "")
}

// connect makes a Client for the place; nothing is asked yet.
func (p place) connect() (*client.Client, error) {
	if p.server == "" && p.data == "" {
		return nil, usage("there is no home directory; name the data directory with --data or the address with --server")
	}
	if p.server != "" {
		if _, err := client.New(p.server, ""); err != nil {
			return nil, usage("--server: " + err.Error())
		}
	}
	token, err := p.token()
	if err != nil {
		return nil, err
	}
	if p.server != "" {
		return client.New(p.server, token)
	}
	return client.NewUnix(SocketPath(p.data), token), nil
}

func (p place) where() string {
	if p.server != "" {
		return p.server
	}
	return SocketPath(p.data)
}

// token reads the token: for this machine's appliance from its data directory, else from the file that $HOLDFAST_TOKEN_FILE names. The
// owner's token of this machine is never sent to another one.
func (p place) token() (string, error) {
	own, named := "", os.Getenv("HOLDFAST_TOKEN_FILE")
	if p.data != "" && (p.server == "" || isLoopback(p.server)) {
		own = TokenPath(p.data)
	}
	files := []string{own, named}
	if p.server != "" {
		files = []string{named, own}
	}
	for _, file := range files {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err == nil {
			return strings.TrimSpace(string(text)), nil
		}
		if file == named || !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if p.server != "" {
		return "", usage("there is no token for " + p.server + "; name a file with one in HOLDFAST_TOKEN_FILE")
	}
	return "", &Exit{Code: CodeNobody, Message: "no appliance has run with the data directory " + p.data +
		"; start one with: holdfast, or name another with --data"}
}

func isLoopback(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	return u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
}

// failed gives a request's error its exit code and its one line.
func (p place) failed(doing string, err error) error {
	var exit *Exit
	var refused *chat.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return exit
	case errors.As(err, &refused):
		return &Exit{Code: codeOf(refused.Kind), Message: doing + ": " + sentences(refused)}
	case errors.Is(err, context.Canceled):
		return &Exit{Code: CodeCtrlC}
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Exit{Code: CodeNobody, Message: "no appliance answers at " + p.where() + "; start one with: holdfast, or name another with " +
			"--data or --server"}
	}
	code := CodeFailed
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) {
		code = CodeNoSpace
	}
	return &Exit{Code: code, Message: doing + ": " + plain(err.Error())}
}

// codeOf is the one table of error kinds and exit codes.
func codeOf(k chat.Kind) int {
	switch k {
	case chat.KindInvalid, chat.KindTooLarge:
		return CodeUsage
	case chat.KindNotFound, chat.KindModelMissing:
		return CodeNotFound
	case chat.KindUnreachable:
		return CodeNobody
	case chat.KindStoreDamaged, chat.KindChatDamaged:
		return CodeDamaged
	case chat.KindNoSpace, chat.KindReadOnly:
		return CodeNoSpace
	}
	return CodeFailed
}

// sentences is an error in one line.
func sentences(e *chat.Error) string {
	text := e.Message
	for _, v := range e.Validations {
		text += " " + v.Field + ": " + v.Detail
	}
	if len(e.Validations) == 0 && e.Detail != "" {
		text += " " + e.Detail
	}
	return plain(strings.ReplaceAll(text, "\n", " "))
}

// parse reads flags that may stand before and behind the arguments; after "--" there are no more flags.
func parse(set *flag.FlagSet, args []string) ([]string, error) {
	set.SetOutput(io.Discard)
	var rest []string
	for {
		if err := set.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, usage("holdfast " + set.Name() + ": " + err.Error() + "; holdfast help shows the usage")
		}
		left := set.Args()
		if taken := len(args) - len(left); len(left) == 0 || taken > 0 && args[taken-1] == "--" {
			return append(rest, left...), nil
		}
		rest, args = append(rest, left[0]), left[1:]
	}
}
