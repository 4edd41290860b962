package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/chat"
)

// encodedTools is a tool list with the bytes it became.
type encodedTools struct {
	defs  []chat.ToolDef
	bytes []byte
}

// encodedSystem is a system text with the bytes it became: those of its message.
type encodedSystem struct {
	text  string
	bytes []byte
}

// encode writes the body of /api/chat. Everything that stays the same in a Chat comes first, the messages last. Tools and system text are
// encoded once for all requests in a row that have the same.
func (a *Adapter) encode(req *chat.Request, m shown, window int) ([]byte, error) {
	if window <= 0 || req.MaxTokens <= 0 {
		return nil, a.badOption(fmt.Errorf("num_ctx %d and num_predict %d must both be above 0", window, req.MaxTokens))
	}
	keep, err := keepAliveJSON(first(req.Options.KeepAlive, a.keepAlive))
	if err != nil {
		return nil, a.badOption(err)
	}
	tools, err := a.encodeTools(req.Tools)
	if err != nil {
		return nil, a.badOption(err)
	}
	if req.Format != nil && !json.Valid(req.Format) {
		return nil, a.badOption(fmt.Errorf("the format of the reply is not JSON"))
	}
	system := a.encodeSystem(req.System)
	b := make([]byte, 0, 512+len(req.Format)+len(tools)+len(system)+roomFor(req.Messages))
	b = appendHead(b, req, m, window, keep)
	if len(tools) > 0 {
		b = append(b, `,"tools":`...)
		b = append(b, tools...)
	}
	b = append(b, `,"messages":[`...)
	b = append(b, system...)
	for i := range req.Messages {
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = appendMessage(b, &req.Messages[i])
	}
	return append(b, "]}"...), nil
}

// roomFor is about what messages take; with many escaped characters they take more.
func roomFor(messages []chat.PromptMessage) int {
	size := 0
	for i := range messages {
		text := len(messages[i].Content) + len(messages[i].Reasoning)
		size += 40 + text + text/32
		for _, c := range messages[i].Calls {
			size += 80 + len(c.ID) + len(c.Name) + len(c.Args)
		}
		for _, image := range messages[i].Images {
			size += 4 + len(image)
		}
	}
	return size
}

// appendHead begins the body: all that is neither a Tool nor a message.
func appendHead(b []byte, req *chat.Request, m shown, window int, keep string) []byte {
	b = append(b, `{"model":`...)
	b = appendQuoted(b, req.Model)
	b = append(b, `,"stream":true,"truncate":false,"shift":false,"keep_alive":`...)
	b = append(b, keep...)
	b = append(b, `,"options":`...)
	b = appendOptions(b, req, window)
	if think := thinkJSON(req.Think, m); think != "" {
		b = append(b, `,"think":`...)
		b = append(b, think...)
	}
	if req.Format != nil {
		b = append(b, `,"format":`...)
		b = append(b, req.Format...)
	}
	return b
}

// encodeSystem writes the message of the system text; nothing where there is none.
func (a *Adapter) encodeSystem(text string) []byte {
	if text == "" {
		return nil
	}
	last := a.system.Load()
	if last == nil || last.text != text {
		last = &encodedSystem{text: text, bytes: appendMessage(make([]byte, 0, len(text)+len(text)/16+64), &chat.PromptMessage{Role: chat.RoleSystem, Content: text})}
		a.system.Store(last)
	}
	return last.bytes
}

// appendOptions is the one place where options are built: any difference between two requests of a model makes the server
// load it anew.
func appendOptions(b []byte, req *chat.Request, window int) []byte {
	o := &req.Options
	b = append(b, `{"num_ctx":`...)
	b = strconv.AppendInt(b, int64(window), 10)
	b = append(b, `,"num_predict":`...)
	b = strconv.AppendInt(b, int64(req.MaxTokens), 10)
	b = appendFloat(b, "temperature", o.Temperature)
	b = appendFloat(b, "top_p", o.TopP)
	b = appendInt(b, "top_k", o.TopK)
	b = appendFloat(b, "min_p", o.MinP)
	b = appendFloat(b, "typical_p", o.TypicalP)
	b = appendFloat(b, "repeat_penalty", o.RepeatPenalty)
	b = appendInt(b, "repeat_last_n", o.RepeatLastN)
	b = appendFloat(b, "presence_penalty", o.PresencePenalty)
	b = appendFloat(b, "frequency_penalty", o.FrequencyPenalty)
	b = appendInt(b, "seed", o.Seed)
	b = appendInt(b, "num_batch", o.NumBatch)
	b = appendInt(b, "num_gpu", o.NumGPU)
	b = appendInt(b, "main_gpu", o.MainGPU)
	b = appendInt(b, "num_thread", o.NumCores)
	if o.UseMMap != nil {
		b = append(b, `,"use_mmap":`...)
		b = strconv.AppendBool(b, *o.UseMMap)
	}
	if len(o.Stop) > 0 {
		b = append(b, `,"stop":[`...)
		for i, s := range o.Stop {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendQuoted(b, s)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

func appendFloat(b []byte, key string, v *float64) []byte {
	if v == nil {
		return b
	}
	b = append(b, `,"`+key+`":`...)
	return strconv.AppendFloat(b, *v, 'f', -1, 64)
}

func appendInt(b []byte, key string, v *int) []byte {
	if v == nil {
		return b
	}
	b = append(b, `,"`+key+`":`...)
	return strconv.AppendInt(b, int64(*v), 10)
}

func appendMessage(b []byte, m *chat.PromptMessage) []byte {
	b = append(b, `{"role":`...)
	b = appendQuoted(b, string(m.Role))
	b = append(b, `,"content":`...)
	b = appendQuoted(b, m.Content)
	if m.Reasoning != "" {
		b = append(b, `,"thinking":`...)
		b = appendQuoted(b, m.Reasoning)
	}
	if len(m.Calls) > 0 {
		b = append(b, `,"tool_calls":[`...)
		for i, c := range m.Calls {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `{"id":`...)
			b = appendQuoted(b, c.ID)
			b = append(b, `,"function":{"index":`...)
			b = strconv.AppendInt(b, int64(i), 10)
			b = append(b, `,"name":`...)
			b = appendQuoted(b, c.Name)
			b = append(b, `,"arguments":`...)
			args := bytes.TrimSpace(c.Args)
			if !isObject(args) {
				args = []byte("{}")
			}
			b = append(b, args...)
			b = append(b, "}}"...)
		}
		b = append(b, ']')
	}
	if m.Role == chat.RoleTool {
		b = append(b, `,"tool_name":`...)
		b = appendQuoted(b, m.ToolName)
		b = append(b, `,"tool_call_id":`...)
		b = appendQuoted(b, m.CallID)
	}
	if len(m.Images) > 0 {
		b = append(b, `,"images":[`...)
		for i, image := range m.Images {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendQuoted(b, image)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// encodeTools writes the definitions with their schemas as they are: the server's own client types would lose parts.
func (a *Adapter) encodeTools(defs []chat.ToolDef) ([]byte, error) {
	if len(defs) == 0 {
		return nil, nil
	}
	if last := a.tools.Load(); last != nil && slices.EqualFunc(last.defs, defs, sameTool) {
		return last.bytes, nil
	}
	b := []byte{'['}
	for i, d := range defs {
		if !isObject(bytes.TrimSpace(d.Schema)) {
			return nil, fmt.Errorf("the schema of the tool %s is not a JSON object", d.Name)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"type":"function","function":{"name":`...)
		b = appendQuoted(b, d.Name)
		b = append(b, `,"description":`...)
		b = appendQuoted(b, d.Description)
		b = append(b, `,"parameters":`...)
		b = append(b, bytes.TrimSpace(d.Schema)...)
		b = append(b, "}}"...)
	}
	b = append(b, ']')
	a.tools.Store(&encodedTools{defs: slices.Clone(defs), bytes: b})
	return b, nil
}

func sameTool(a, b chat.ToolDef) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
}

// thinkJSON says what to send for the wish: nothing to models that cannot think, since the server refuses it; levels only to
// gpt-oss, which cannot be switched off.
func thinkJSON(wish string, m shown) string {
	if wish == "" || !m.can("thinking") {
		return ""
	}
	if m.levels() {
		switch wish {
		case "low", "medium", "high":
			return `"` + wish + `"`
		case "false":
			return `"low"`
		}
		return "true"
	}
	if wish == "false" {
		return "false"
	}
	return "true"
}

// keepAliveJSON writes whole numbers as such: the server takes "-1" for a duration without a unit.
func keepAliveJSON(s string) (string, error) {
	if _, err := strconv.Atoi(s); err == nil {
		return s, nil
	}
	if _, err := time.ParseDuration(s); err != nil {
		return "", fmt.Errorf("keep_alive %q is neither a duration such as 30m nor a number of seconds", s)
	}
	return `"` + s + `"`, nil
}

// badOption is refused here as the server would refuse it.
func (a *Adapter) badOption(err error) error {
	return &chat.Fault{Status: http.StatusBadRequest, Text: "invalid option: " + err.Error(), Address: a.address, Err: err}
}

func first(s ...string) string {
	for _, v := range s {
		if strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}
