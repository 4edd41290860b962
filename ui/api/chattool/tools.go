package chattool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// Bounds of what a call asks for and gets.
const (
	defaultWait = 30
	maxWait     = 300
	defaultPage = 20
	maxPage     = 50
	maxText     = 16 << 10
)

// Instructions tell a client what the tools are for.
const Instructions = "Chats of a Holdfast appliance: each is a model that works in a folder with tools. start_chat gives a chat_id; wait_chat waits for the reply."

// Tool is one of them. Run gives text; its error is a sentence for who called.
type Tool struct {
	Name, Description, Schema string
	ReadOnly                  bool
	Run                       func(ctx context.Context, args json.RawMessage) (string, error)
}

// Tools are all of them, over a client.
func Tools(c *client.Client) []Tool {
	t := tools{c}
	return []Tool{
		{"list_chats", "List chats, newest first, or find those that a query names.", object("", `"query":{"type":"string","description":"words, or filters such as status:running"},"limit":{"type":"integer","description":"1 to 50, default 20"}`), true, typed(t.list)},
		{"list_workspaces", "List the folders that a chat can work in.", object("", ""), true, typed(t.workspaces)},
		{"read_chat", "Read the newest messages of a chat, oldest first.", object(`"chat_id"`, chatField+`,"after_id":{"type":"integer","description":"only messages behind this one"},"limit":{"type":"integer","description":"1 to 50, default 20"}`), true, typed(t.read)},
		{"start_chat", "Start a chat with a prompt. It works on by itself; wait_chat waits for it.", object(`"prompt"`, `"prompt":{"type":"string"},"workspace_id":{"type":"string","description":"from list_workspaces"},"title":{"type":"string"}`), false, typed(t.start)},
		{"send_message", "Send a message to a chat. While it works the message waits, or interrupts.", object(`"chat_id","text"`, chatField+`,"text":{"type":"string"},"interrupt":{"type":"boolean"}`), false, typed(t.send)},
		{"wait_chat", "Wait until a chat rests and get its last reply.", object(`"chat_id"`, chatField+`,"timeout_seconds":{"type":"integer","description":"1 to 300, default 30"}`), true, typed(t.wait)},
		{"interrupt_chat", "Stop what a chat does now. What was written stays.", object(`"chat_id"`, chatField), false, typed(t.interrupt)},
	}
}

const chatField = `"chat_id":{"type":"string"}`

func object(required, properties string) string {
	return `{"type":"object","properties":{` + properties + `},"required":[` + required + `]}`
}

type tools struct{ c *client.Client }

// typed decodes the arguments and encodes the answer.
func typed[A any](run func(context.Context, A) (any, error)) func(context.Context, json.RawMessage) (string, error) {
	return func(ctx context.Context, args json.RawMessage) (string, error) {
		var in A
		if err := json.Unmarshal(args, &in); err != nil {
			return "", fmt.Errorf("the arguments do not have the shape of the schema: %w", err)
		}
		out, err := run(ctx, in)
		if err != nil {
			return "", sentence(err)
		}
		b, err := json.Marshal(out)
		return string(b), err
	}
}

// sentence is what an error says to who called.
func sentence(err error) error {
	var refused *chat.Error
	if errors.As(err, &refused) {
		return errors.New(strings.TrimSpace(refused.Message + " " + refused.Detail))
	}
	return err
}

type listed struct {
	ID        chat.ID     `json:"chat_id"`
	Title     string      `json:"title"`
	Status    chat.State  `json:"status"`
	Summary   string      `json:"summary,omitempty"`
	UpdatedAt client.Time `json:"updated_at"`
}

func (t tools) list(ctx context.Context, in struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}) (any, error) {
	page, err := t.c.Chats(ctx, client.ChatQuery{Text: in.Query, Limit: bounded(in.Limit, defaultPage, maxPage)})
	if err != nil {
		return nil, err
	}
	out := struct {
		Chats []listed `json:"chats"`
	}{Chats: []listed{}}
	for _, c := range page.Chats {
		out.Chats = append(out.Chats, listed{c.ID, c.Title, c.Status, c.LastTurnSummary, c.UpdatedAt})
	}
	return out, nil
}

func (t tools) workspaces(ctx context.Context, _ struct{}) (any, error) {
	all, err := t.c.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	type one struct {
		ID        chat.WorkspaceID `json:"workspace_id"`
		Name      string           `json:"name"`
		Directory string           `json:"directory"`
	}
	out := struct {
		Workspaces []one `json:"workspaces"`
	}{Workspaces: []one{}}
	for _, w := range all {
		out.Workspaces = append(out.Workspaces, one{w.ID, w.Name, w.Directory})
	}
	return out, nil
}

// said is a Message as text: what was written, and by name what was called.
type said struct {
	ID    chat.MessageID `json:"message_id"`
	Role  chat.Role      `json:"role"`
	Text  string         `json:"text,omitempty"`
	Tools []string       `json:"tools,omitempty"`
}

func saidOf(m client.Message) said {
	out := said{ID: m.ID, Role: m.Role}
	var texts []string
	for _, p := range m.Content {
		switch p.Type {
		case chat.PartText:
			texts = append(texts, p.Text)
		case chat.PartToolCall:
			out.Tools = append(out.Tools, p.ToolName)
		}
	}
	out.Text = cut(strings.Join(texts, "\n"))
	return out
}

func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + fmt.Sprintf("\n[... %d bytes omitted ...]", len(text)-maxText)
}

func (t tools) read(ctx context.Context, in struct {
	ID    chat.ID        `json:"chat_id"`
	After chat.MessageID `json:"after_id"`
	Limit int            `json:"limit"`
}) (any, error) {
	c, err := t.chat(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	page, err := t.c.Messages(ctx, c.ID, client.MessageQuery{AfterID: in.After, Limit: bounded(in.Limit, defaultPage, maxPage)})
	if err != nil {
		return nil, err
	}
	out := struct {
		Status   chat.State `json:"status"`
		Title    string     `json:"title"`
		Messages []said     `json:"messages"`
		More     bool       `json:"has_more"`
	}{Status: c.Status, Title: c.Title, Messages: []said{}, More: page.HasMore}
	if in.After == 0 {
		slices.Reverse(page.Messages)
	}
	for _, m := range page.Messages {
		// Results of tools belong to the calls that are named.
		if m.Role != chat.RoleTool {
			out.Messages = append(out.Messages, saidOf(m))
		}
	}
	return out, nil
}

func (t tools) start(ctx context.Context, in struct {
	Prompt    string           `json:"prompt"`
	Workspace chat.WorkspaceID `json:"workspace_id"`
	Title     string           `json:"title"`
}) (any, error) {
	if strings.TrimSpace(in.Prompt) == "" {
		return nil, errors.New("prompt is empty")
	}
	c, err := t.c.CreateChat(ctx, client.ChatCreate{Content: textOf(in.Prompt), WorkspaceID: in.Workspace, Title: in.Title})
	if err != nil {
		return nil, err
	}
	return map[string]any{"chat_id": c.ID, "status": c.Status, "title": c.Title}, nil
}

func (t tools) send(ctx context.Context, in struct {
	ID        chat.ID `json:"chat_id"`
	Text      string  `json:"text"`
	Interrupt bool    `json:"interrupt"`
}) (any, error) {
	if strings.TrimSpace(in.Text) == "" {
		return nil, errors.New("text is empty")
	}
	if in.ID == "" {
		return nil, errors.New("chat_id is missing")
	}
	busy := ""
	if in.Interrupt {
		busy = "interrupt"
	}
	sent, err := t.c.Send(ctx, in.ID, client.MessageSend{Content: textOf(in.Text), BusyBehavior: busy})
	if err != nil {
		return nil, err
	}
	return map[string]any{"chat_id": in.ID, "queued": sent.Queued}, nil
}

func (t tools) interrupt(ctx context.Context, in struct {
	ID chat.ID `json:"chat_id"`
}) (any, error) {
	if in.ID == "" {
		return nil, errors.New("chat_id is missing")
	}
	c, err := t.c.Interrupt(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return map[string]any{"chat_id": c.ID, "status": c.Status}, nil
}

// wait follows the chat's stream until it rests or a person is needed.
func (t tools) wait(ctx context.Context, in struct {
	ID      chat.ID `json:"chat_id"`
	Timeout int     `json:"timeout_seconds"`
}) (any, error) {
	c, err := t.chat(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, time.Duration(bounded(in.Timeout, defaultWait, maxWait))*time.Second)
	defer cancel()
	if !stands(c.Status) {
		for frame, err := range t.c.Stream(within, c.ID, 0) {
			if err != nil && within.Err() == nil {
				return nil, err
			}
			if err != nil || rests(frame) {
				break
			}
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if c, err = t.chat(ctx, c.ID); err != nil {
		return nil, err
	}
	return t.standing(ctx, c)
}

func rests(f client.Frame) bool {
	for _, e := range f.Events {
		if s, ok := e.(*client.StatusEvent); ok && stands(s.Status) {
			return true
		}
	}
	return false
}

// stands: it does nothing until somebody acts.
func stands(s chat.State) bool { return s.AtRest() || s == chat.RequiresAction }

// standing says where a chat stands, with its last reply.
func (t tools) standing(ctx context.Context, c client.Chat) (any, error) {
	out := struct {
		ID       chat.ID    `json:"chat_id"`
		Status   chat.State `json:"status"`
		TimedOut bool       `json:"timed_out,omitempty"`
		Reply    string     `json:"reply,omitempty"`
		Error    string     `json:"error,omitempty"`
		Note     string     `json:"note,omitempty"`
	}{ID: c.ID, Status: c.Status, TimedOut: !stands(c.Status)}
	if c.LastError != nil {
		out.Error = c.LastError.Message
	}
	if c.Status == chat.RequiresAction {
		out.Note = "A person must answer on the appliance's page before it goes on."
	}
	page, err := t.c.Messages(ctx, c.ID, client.MessageQuery{Limit: maxPage})
	if err != nil {
		return nil, err
	}
	for _, m := range page.Messages {
		if m.Role == chat.RoleUser || out.Reply != "" {
			break
		}
		if m.Role == chat.RoleAssistant {
			out.Reply = saidOf(m).Text
		}
	}
	return out, nil
}

func (t tools) chat(ctx context.Context, id chat.ID) (client.Chat, error) {
	if id == "" {
		return client.Chat{}, errors.New("chat_id is missing")
	}
	return t.c.Chat(ctx, id)
}

func textOf(text string) []client.Input {
	return []client.Input{{Type: chat.PartText, Text: text}}
}

// bounded is n, or the default where nobody said, within 1 and most.
func bounded(n, standard, most int) int {
	if n == 0 {
		return standard
	}
	return min(max(n, 1), most)
}
