package model

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast/engine/chat"
)

const (
	// A window under minWindow holds no system prompt with tools; maxWindow is above what any model was trained for.
	minWindow = 256
	maxWindow = 16 << 20
	maxName   = 80
	maxModel  = 200
	maxStops  = 16
	// The most that any model or machine takes.
	maxPredict = 1 << 20
	maxBatch   = 65536
	maxLayers  = 999
	maxGPU     = 63
	maxThreads = 1024
)

// A price fits an integer of micro-units per million tokens with room for every token count.
var price = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,7}(\.[0-9]{1,6})?$`) })

// validate checks a whole config as it would be stored; all holds every stored one. The Error names each bad field once.
func validate(c *chat.ModelConfig, all []*chat.ModelConfig) error {
	var v []chat.Validation
	bad := func(field, detail string) { v = append(v, chat.Validation{Field: field, Detail: detail}) }

	switch {
	case c.Name == "":
		bad("name", "give it a name")
	case utf8.RuneCountInString(c.Name) > maxName:
		bad("name", fmt.Sprintf("at most %d characters", maxName))
	case !printable(c.Name):
		bad("name", "one line of text")
	case taken(c.Name, c.ID, all):
		bad("name", "another model is called so already")
	}
	switch {
	case c.Provider == chat.ProviderDemo && c.Model == DemoModel:
	case c.Provider == chat.ProviderDemo:
		bad("model", "the demo has one model, "+DemoModel)
	case c.Provider != chat.ProviderOllama && c.Provider != chat.ProviderOpenAI:
		bad("provider", "must be "+providerNames)
	}
	wrongName := badModel
	if c.Provider == chat.ProviderOpenAI {
		wrongName = badOtherModel
		if _, why := cleanBase(c.BaseURL); why != "" {
			bad("base_url", why)
		}
	} else if c.BaseURL != "" {
		bad("base_url", "only for the provider "+chat.ProviderOpenAI+"; the address of the model server stands on the Models page")
	}
	if why := wrongName(c.Model); why != "" {
		bad("model", why)
	}
	if c.ContextLimit != nil && !window(*c.ContextLimit) {
		bad("context_limit", windowRange)
	}
	if t := c.CompactionThreshold; t != nil && (*t < 1 || *t > 100) {
		bad("compaction_threshold", "a percentage from 1 to 100; 100 is never")
	}
	switch c.Tools {
	case chat.ToolsAuto, chat.ToolsNative, chat.ToolsText, chat.ToolsJSON, chat.ToolsOff:
	default:
		bad("tools", "must be auto, native, text, json or off")
	}
	for _, p := range []struct {
		field string
		value *string
	}{{"price_input", c.PriceInput}, {"price_output", c.PriceOutput}, {"price_cached", c.PriceCached}} {
		if p.value != nil && !price().MatchString(*p.value) {
			bad(p.field, `a decimal such as "0.25", with at most six digits after the point, or null`)
		}
	}
	v = append(v, checkOptions(c)...)
	return refuse(v)
}

var windowRange = fmt.Sprintf("a number of tokens from %d to %d", minWindow, maxWindow)

func window(n int64) bool { return n >= minWindow && n <= maxWindow }

// checkOptions refuses what the model server would take silently and answer with nonsense.
func checkOptions(c *chat.ModelConfig) []chat.Validation {
	var v []chat.Validation
	o := c.Options
	bad := func(field, detail string) { v = append(v, chat.Validation{Field: "options." + field, Detail: detail}) }
	between := func(field string, x *float64, low, high float64) {
		if x != nil && (math.IsNaN(*x) || *x < low || *x > high) {
			bad(field, fmt.Sprintf("a number from %g to %g", low, high))
		}
	}
	switch {
	case o.NumCtx != 0 && !window(int64(o.NumCtx)):
		bad("num_ctx", windowRange)
	case c.ContextLimit != nil && int64(o.NumCtx) > *c.ContextLimit:
		bad("num_ctx", "not more than context_limit")
	}
	between("temperature", o.Temperature, 0, 10)
	between("top_p", o.TopP, 0, 1)
	between("min_p", o.MinP, 0, 1)
	between("typical_p", o.TypicalP, 0, 1)
	between("repeat_penalty", o.RepeatPenalty, 0, 10)
	between("presence_penalty", o.PresencePenalty, -2, 2)
	between("frequency_penalty", o.FrequencyPenalty, -2, 2)
	whole := func(field string, x *int, low, high int) {
		if x != nil && (*x < low || *x > high) {
			bad(field, fmt.Sprintf("a whole number from %d to %d", low, high))
		}
	}
	whole("num_predict", o.NumPredict, 1, maxPredict)
	whole("num_batch", o.NumBatch, 1, maxBatch)
	whole("num_gpu", o.NumGPU, 0, maxLayers)
	whole("main_gpu", o.MainGPU, 0, maxGPU)
	whole("num_thread", o.NumCores, 1, maxThreads)
	whole("repeat_last_n", o.RepeatLastN, -1, maxWindow)
	if o.TopK != nil && (*o.TopK < 0 || *o.TopK > math.MaxInt32) {
		bad("top_k", "0 or more")
	}
	if o.Seed != nil && (*o.Seed < math.MinInt32 || *o.Seed > math.MaxInt32) {
		bad("seed", "a number of 32 bits")
	}
	if len(o.Stop) > maxStops {
		bad("stop", fmt.Sprintf("at most %d texts", maxStops))
	}
	for _, s := range o.Stop {
		if s == "" || len(s) > maxModel {
			bad("stop", fmt.Sprintf("each text has 1 to %d bytes", maxModel))
			break
		}
	}
	if o.KeepAlive != "" && o.KeepAlive != "-1" {
		if d, err := time.ParseDuration(o.KeepAlive); err != nil || d < 0 {
			bad("keep_alive", `a duration such as "30m", or "-1" for always`)
		}
	}
	switch o.Think {
	case "", "true", "false", "low", "medium", "high":
	default:
		bad("think", "must be true, false, low, medium, high or empty")
	}
	return v
}

// badModel says what is wrong with a model's name, "" when nothing is.
func badModel(name string) string {
	switch {
	case name == "":
		return "name the model as the model server lists it"
	case len(name) > maxModel:
		return fmt.Sprintf("at most %d bytes", maxModel)
	case strings.HasPrefix(name, "-"), strings.HasPrefix(name, "/"), strings.Contains(name, ".."):
		return "not the name of a model"
	}
	for _, r := range name {
		if !strings.ContainsRune("-_./:@", r) && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)) {
			return "a name has letters, digits and - _ . / : @"
		}
	}
	return ""
}

func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

// refuse gives one KindInvalid Error for all fields, nil for none.
func refuse(v []chat.Validation) error {
	if len(v) == 0 {
		return nil
	}
	return &chat.Error{Kind: chat.KindInvalid, Message: "The request is not valid.", Detail: v[0].Field + ": " + v[0].Detail, Validations: v}
}
