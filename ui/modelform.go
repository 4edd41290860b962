package ui

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"holdfast/engine/chat"
	"holdfast/engine/model"
	"holdfast/ui/gate"
	"holdfast/ui/view"
)

// The selects of a Model config's form: values and labels in turn.
var (
	thinkChoices = []string{"", "as the model does", "true", "on", "false", "off", "low", "low", "medium", "medium", "high", "high"}
	toolChoices  = []string{chat.ToolsAuto, "as the model can", chat.ToolsNative, "native", chat.ToolsText, "as text", chat.ToolsJSON, "as JSON", chat.ToolsOff, "off"}
	keepChoices  = []string{"", "30 minutes after the last use", "5m", "5 minutes after the last use", "1h", "1 hour after the last use", "4h", "4 hours after the last use", "-1", "always"}
	mmapChoices  = []string{"", "as the server does", "true", "yes", "false", "no"}
)

// configValues are the texts of a Model config's form, by the names of its fields.
func configValues(c chat.ModelConfig) map[string]string {
	o := c.Options
	whole := func(n *int) string {
		if n == nil {
			return ""
		}
		return strconv.Itoa(*n)
	}
	part := func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'f', -1, 64)
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	v := map[string]string{"name": c.Name, "think": o.Think, "tools": c.Tools, "keep_alive": o.KeepAlive, "temperature": part(o.Temperature), "top_p": part(o.TopP),
		"top_k": whole(o.TopK), "min_p": part(o.MinP), "typical_p": part(o.TypicalP), "repeat_penalty": part(o.RepeatPenalty), "repeat_last_n": whole(o.RepeatLastN),
		"presence_penalty": part(o.PresencePenalty), "frequency_penalty": part(o.FrequencyPenalty), "seed": whole(o.Seed), "stop": strings.Join(o.Stop, " | "),
		"num_predict": whole(o.NumPredict), "num_batch": whole(o.NumBatch), "num_gpu": whole(o.NumGPU), "main_gpu": whole(o.MainGPU), "num_thread": whole(o.NumCores),
		"compaction_threshold": whole(c.CompactionThreshold), "price_input": text(c.PriceInput), "price_output": text(c.PriceOutput), "price_cached": text(c.PriceCached)}
	if n := windowShown(c); n > 0 {
		v["context_limit"] = strconv.FormatInt(n, 10)
	}
	if o.UseMMap != nil {
		v["use_mmap"] = strconv.FormatBool(*o.UseMMap)
	}
	if c.SendReasoning {
		v["send_reasoning"] = "1"
	}
	return v
}

// windowShown is the window of a config: num_ctx, the narrower of the two, counts first; 0 leaves it to the server.
func windowShown(c chat.ModelConfig) int64 {
	switch {
	case c.Options.NumCtx > 0:
		return int64(c.Options.NumCtx)
	case c.ContextLimit != nil:
		return *c.ContextLimit
	}
	return 0
}

// configGroups are the fields of a Model config's form with their values and what is wrong with them, by name.
func configGroups(c chat.ModelConfig, values, wrong map[string]string) []view.FieldGroup {
	id := string(c.ID)
	line := func(name, label, hint string) view.Field {
		return view.Field{ID: "m-" + name + "-" + id, Name: name, Label: label, Hint: hint, Value: values[name], Error: wrong[name]}
	}
	number := func(name, label, hint string) view.Field {
		f := line(name, label, hint)
		f.Number = true
		return f
	}
	choice := func(name, label, hint string, pairs []string) view.Field {
		f := line(name, label, hint)
		f.Options = view.Choices(values[name], pairs...)
		return f
	}
	hint := "A larger window takes more memory. Empty: chosen by what fits."
	if c.Provider == chat.ProviderOpenAI {
		hint = "Not more than the server runs the model with."
	}
	main := view.FieldGroup{Fields: []view.Field{line("name", "Name", ""), number("context_limit", "Window, in tokens", hint),
		choice("think", "Thinking", "", thinkChoices), choice("tools", "Tools", "", toolChoices)}}
	if c.Provider != chat.ProviderOpenAI {
		main.Fields = append(main.Fields, choice("keep_alive", "Keep loaded", "", keepChoices))
	}
	main.Fields = append(main.Fields, number("compaction_threshold", "Compact at, in percent of the window", "Empty: 70. 100 is never."),
		view.Field{Box: true, Name: "send_reasoning", Label: "Send back what it thought", Checked: values["send_reasoning"] != "",
			Hint: "For models that go on better with it. It takes room in the window."})
	sampling := view.FieldGroup{Title: "Sampling", Fields: []view.Field{number("temperature", "Temperature", "0 to 10. Empty: as the model says."),
		number("top_p", "Top p", "0 to 1."), number("top_k", "Top k", "0 or more."), number("min_p", "Min p", "0 to 1."), number("typical_p", "Typical p", "0 to 1."),
		number("repeat_penalty", "Repeat penalty", "0 to 10."), number("repeat_last_n", "Repeat penalty looks back, in tokens", "-1 is the window."),
		number("presence_penalty", "Presence penalty", "-2 to 2."), number("frequency_penalty", "Frequency penalty", "-2 to 2."),
		number("seed", "Seed", "The same seed, the same replies, as far as the server can."), number("num_predict", "Longest reply, in tokens", "Empty: 32,000."),
		line("stop", "Stop at", "Texts that end a reply, with | between them.")}}
	groups := []view.FieldGroup{main, sampling}
	if c.Provider != chat.ProviderOpenAI {
		groups = append(groups, view.FieldGroup{Title: "Loading", Fields: []view.Field{number("num_gpu", "Layers on the graphics card", "Empty: as many as fit."),
			number("main_gpu", "Main graphics card", ""), number("num_thread", "Processor cores", ""), number("num_batch", "Batch, in tokens", "More reads prompts faster and takes memory."),
			choice("use_mmap", "Map the file into memory", "", mmapChoices)}})
	}
	return append(groups, view.FieldGroup{Title: "Prices", Fields: []view.Field{number("price_input", "Per million tokens read", "Empty: no price. 0 is free."),
		number("price_output", "Per million tokens written", ""), number("price_cached", "Per million tokens from the cache", "")}})
}

// configFields reads the form of a Model config. wrong says by name what is no number.
func configFields(form url.Values) (in model.Fields, wrong map[string]string) {
	wrong = map[string]string{}
	text := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	whole := func(name string) *int {
		if text(name) == "" {
			return nil
		}
		n, err := strconv.Atoi(text(name))
		if err != nil {
			wrong[name] = "Write a whole number, or nothing."
		}
		return &n
	}
	part := func(name string) *float64 {
		if text(name) == "" {
			return nil
		}
		x, err := strconv.ParseFloat(text(name), 64)
		if err != nil {
			wrong[name] = "Write a number such as 0.7, or nothing."
		}
		return &x
	}
	price := func(name string) model.Nullable[string] {
		if text(name) == "" {
			return model.Null[string]()
		}
		return model.Some(text(name))
	}
	name, tools, reasoning := text("name"), text("tools"), form.Get("send_reasoning") != ""
	in.Name, in.Tools, in.SendReasoning = &name, &tools, &reasoning
	in.ContextLimit, in.CompactionThreshold = model.Null[int64](), model.Null[int]()
	if n := whole("context_limit"); n != nil {
		in.ContextLimit = model.Some(int64(*n))
	}
	if n := whole("compaction_threshold"); n != nil {
		in.CompactionThreshold = model.Some(*n)
	}
	in.PriceInput, in.PriceOutput, in.PriceCached = price("price_input"), price("price_output"), price("price_cached")
	in.Options = &chat.Options{Temperature: part("temperature"), TopP: part("top_p"), TopK: whole("top_k"), MinP: part("min_p"), TypicalP: part("typical_p"),
		RepeatPenalty: part("repeat_penalty"), RepeatLastN: whole("repeat_last_n"), PresencePenalty: part("presence_penalty"), FrequencyPenalty: part("frequency_penalty"),
		Seed: whole("seed"), NumPredict: whole("num_predict"), NumGPU: whole("num_gpu"), MainGPU: whole("main_gpu"), NumCores: whole("num_thread"),
		NumBatch: whole("num_batch"), KeepAlive: text("keep_alive"), Think: text("think")}
	for s := range strings.SplitSeq(form.Get("stop"), "|") {
		if s = strings.TrimSpace(s); s != "" {
			in.Options.Stop = append(in.Options.Stop, s)
		}
	}
	if mapped := text("use_mmap"); mapped != "" {
		yes := mapped == "true"
		in.Options.UseMMap = &yes
	}
	otherFields(form, &in)
	return in, wrong
}

// wrongFields are the names of the form's fields and what the room says against them; rest is what belongs to none of them.
func wrongFields(err error) (wrong map[string]string, rest string) {
	wrong = map[string]string{}
	var e *chat.Error
	if !errors.As(err, &e) || len(e.Validations) == 0 {
		return wrong, sentence(err)
	}
	for _, v := range e.Validations {
		switch name := strings.TrimPrefix(v.Field, "options."); name {
		case "base_url", "api_key", "provider", "model":
			rest = strings.TrimSpace(rest + " " + v.Field + ": " + v.Detail + ".")
		default:
			wrong[name] = strings.ToUpper(v.Detail[:1]) + v.Detail[1:] + "."
		}
	}
	return wrong, rest
}

// updateConfig changes a Model config. What is wrong stands beside its field, and what was typed stays.
func (s *Site) updateConfig(w http.ResponseWriter, r *http.Request) {
	ctx, p, id := r.Context(), gate.Principal(r.Context()), chat.ModelConfigID(r.PathValue("id"))
	if err := r.ParseForm(); err != nil {
		s.done(w, r, chat.Invalid("form", "It cannot be read."))
		return
	}
	in, wrong := configFields(r.PostForm)
	problem := ""
	if len(wrong) == 0 {
		_, err := s.models.Update(ctx, p, model.UpdateInput{ID: id, Fields: in})
		var refused *chat.Error
		if !errors.As(err, &refused) || refused.Kind != chat.KindInvalid {
			s.sections(w, r, err)
			return
		}
		wrong, problem = wrongFields(err)
	}
	c, err := s.models.Get(ctx, p, model.GetInput{ID: id})
	if err != nil {
		s.done(w, r, err)
		return
	}
	shown := configView(c, nil, false)
	shown.Groups, shown.Problem = configGroups(c, typed(r.PostForm), wrong), problem
	s.fragment(w, r, view.ConfigForm(shown))
}

// typed are the values of a form as they came.
func typed(form url.Values) map[string]string {
	out := make(map[string]string, len(form))
	for name := range form {
		out[name] = form.Get(name)
	}
	return out
}
