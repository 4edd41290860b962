package cli_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"holdfast/engine/ollama/scripted"
	"holdfast/ui/api/apitest"
	"holdfast/ui/api/client"
	"holdfast/ui/cli"
)

// terminal opens a new pseudo terminal: the person's side and the command's.
func terminal(t *testing.T) (person, command *os.File) {
	t.Helper()
	// Opened without polling, so that the command's reads block as on a real terminal.
	fd, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	person = os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { person.Close() })
	var unlock, n int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &n} {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(value))); e != 0 {
			t.Fatal(e)
		}
	}
	if command, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command.Close() })
	return person, command
}

func TestACardIsAnsweredOnATerminal(t *testing.T) {
	for answer, made := range map[string]bool{"maybe\ny": true, "n": false} {
		bare(t)
		dir := t.TempDir()
		a := start(t, apitest.Options{Scripts: []scripted.Script{
			{Results: 0, Reply: scripted.Calls(scripted.Call{Name: "execute", Args: json.RawMessage(`{"command":"touch made"}`)})},
			{Results: 1, Reply: scripted.Text("Done.")},
		}})
		person, command := terminal(t)
		if !cli.IsTerminal(command) || cli.IsTerminal(nil) {
			t.Error("the terminal is not taken for one")
		}
		seen := ""
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			for r := bufio.NewReader(person); !strings.HasSuffix(seen, "allow it? [y/n]"); {
				b, err := r.ReadByte()
				if err != nil {
					return
				}
				seen += string(b)
			}
			fmt.Fprintln(person, answer)
		}()
		var out strings.Builder
		err := cli.Run(t.Context(), "chat", []string{"--data", a.Dir, "--workspace", dir, "go"}, cli.IO{In: command, Out: &out, Err: command})
		<-asked
		// As on the page: the call, where it runs, why it asks, and what holds it.
		for _, want := range []string{"touch made\r\n", "  in: " + dir + "\r\n", "  workspace: " + filepath.Base(dir) + ", on the machine of this appliance\r\n", "  asks because: ", "  sandbox: "} {
			if !strings.Contains(seen, want) {
				t.Errorf("the card has no %q: %q", want, seen)
			}
		}
		if err != nil || out.String() != "Done.\n" {
			t.Errorf("%q: %q, %v", answer, out.String(), err)
		}
		if _, err := os.Stat(filepath.Join(dir, "made")); os.IsNotExist(err) == made {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

// TestAPasswordIsNotShown: on a terminal a password is asked for twice and nothing of it appears.
func TestAPasswordIsNotShown(t *testing.T) {
	bare(t)
	a := start(t, apitest.Options{})
	for again, code := range map[string]int{"four small words here": cli.CodeDone, "four small words hear": cli.CodeUsage} {
		person, command := terminal(t)
		shown := make(chan string, 1)
		go func() {
			seen, typed := "", 0
			r := bufio.NewReader(person)
			for typed < 2 {
				b, err := r.ReadByte()
				if err != nil {
					break
				}
				seen += string(b)
				if strings.HasSuffix(seen, "owner: ") {
					fmt.Fprintln(person, "four small words here")
					typed++
				}
				if strings.HasSuffix(seen, "Again: ") {
					fmt.Fprintln(person, again)
					typed++
				}
			}
			shown <- seen
		}()
		err := cli.Run(t.Context(), "user", []string{"password", "owner", "--data", a.Dir}, cli.IO{In: command, Out: command, Err: command})
		if seen := <-shown; strings.Contains(seen, "small") {
			t.Errorf("the terminal showed %q", seen)
		}
		var exit *cli.Exit
		if code == cli.CodeDone && err != nil || code != cli.CodeDone && (!errors.As(err, &exit) || exit.Code != code) {
			t.Errorf("typed again as %q: %v", again, err)
		}
	}
}

// TestQuestionsAreAnsweredOnATerminal: numbers stand for options, words for themselves.
func TestQuestionsAreAnsweredOnATerminal(t *testing.T) {
	bare(t)
	a := wide(t, apitest.Options{Scripts: asks()})
	person, command := terminal(t)
	seen := make(chan string, 1)
	go func() {
		r, all := bufio.NewReader(person), ""
		for _, step := range [][2]string{{"6 hours (one tide)", "2"}, {"Which pages?", "1, 2"}} {
			for part := ""; !strings.Contains(part, step[0]) || !strings.HasSuffix(part, "own words: "); {
				b, err := r.ReadByte()
				if err != nil {
					seen <- all
					return
				}
				part, all = part+string(b), all+string(b)
			}
			fmt.Fprintln(person, step[1])
		}
		seen <- all
	}()
	var out strings.Builder
	err := cli.Run(t.Context(), "chat", []string{"--data", a.Dir, "ask"}, cli.IO{In: command, Out: &out, Err: command})
	if err != nil || out.String() != "Good.\n" {
		t.Errorf("%q, %v: %q", out.String(), err, <-seen)
	}
	page, err := a.Client.Chats(t.Context(), client.ChatQuery{})
	if err != nil || len(page.Chats) != 1 {
		t.Fatal(page, err)
	}
	all, err := a.Client.Messages(t.Context(), page.Chats[0].ID, client.MessageQuery{})
	if err != nil || len(all.Messages) != 5 || all.Messages[1].Content[0].Text != "How long? 1 day\nWhich pages? one, two" {
		t.Errorf("%+v, %v", all.Messages, err)
	}
}

// TestASubAgentsCardIsAnsweredOnATerminal: what a sub-agent asks is asked where its chat is followed.
func TestASubAgentsCardIsAnsweredOnATerminal(t *testing.T) {
	bare(t)
	dir := t.TempDir()
	a := wide(t, apitest.Options{Answer: delegating})
	person, command := terminal(t)
	shown := make(chan string, 1)
	go func() {
		var seen []byte
		for r := bufio.NewReader(person); !strings.HasSuffix(string(seen), "allow it? [y/n]"); {
			b, err := r.ReadByte()
			if err != nil {
				break
			}
			seen = append(seen, b)
		}
		fmt.Fprintln(person, "y")
		shown <- string(seen)
	}()
	var out strings.Builder
	err := cli.Run(t.Context(), "chat", []string{"--data", a.Dir, "--workspace", dir, "go"}, cli.IO{In: command, Out: &out, Err: command})
	if err != nil || out.String() != "Done.\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if seen := <-shown; !strings.Contains(seen, "sub-agent “Toucher”: the model asks for execute:") || !strings.Contains(seen, "touch made") {
		t.Errorf("the terminal showed %q", seen)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
}
