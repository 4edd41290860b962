package workspace

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"holdfast/engine/chat"
	"holdfast/engine/rule"
	"holdfast/kv"
)

// Bounds of a Template's fields.
const (
	maxDescription = 500
	maxSetup       = 16 << 10
	maxVariables   = 50
	maxVariable    = 4 << 10
	maxSource      = 1024
)

// Profiles are how commands of a Template's Workspaces may be confined.
var Profiles = []string{"workspace", "read-only", "network", "off"}

var (
	variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`) })
	// scpLike is user@host:path, as ssh takes it.
	scpLike = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^\s]+$`)
	})
)

// cleanTemplate takes off what stands around words, and fills in defaults.
func cleanTemplate(t chat.Template) chat.Template {
	for _, s := range []*string{&t.Name, &t.Description, &t.Source, &t.Directory} {
		*s = strings.TrimSpace(*s)
	}
	t.Setup = strings.TrimSpace(strings.ReplaceAll(t.Setup, "\r\n", "\n"))
	for _, d := range []struct {
		s    *string
		made string
	}{{&t.Target, chat.TargetAppliance}, {&t.Policy, chat.PolicyAsk}, {&t.Sandbox, Profiles[0]}} {
		if *d.s == "" {
			*d.s = d.made
		}
	}
	if t.Variables == nil {
		t.Variables = map[string]string{}
	}
	return t
}

// checkTemplate names every field that is wrong, but not what depends on the others' names.
func (r *Room) checkTemplate(ctx context.Context, t chat.Template) []chat.Validation {
	var v []chat.Validation
	bad := func(field, detail string) { v = append(v, chat.Validation{Field: field, Detail: detail}) }
	if err := checkName(t.Name); err != nil {
		bad("name", firstDetail(err))
	}
	if utf8.RuneCountInString(t.Description) > maxDescription || !utf8.ValidString(t.Description) {
		bad("description", "at most "+strconv.Itoa(maxDescription)+" characters of text")
	}
	if chat.TargetBeside(t.Target) {
		why, err := "", error(nil)
		if err = r.store.View(ctx, func(tx *kv.Tx) error { why, err = cannotMake(tx, chat.AgentID(t.Target)); return err }); err != nil {
			why = "the agent could not be looked up"
		}
		if why != "" {
			bad("target", strings.TrimSuffix(strings.ToLower(why[:1])+why[1:], "."))
		}
	}
	if t.Policy != chat.PolicyAsk && t.Policy != chat.PolicyTrusted {
		bad("policy", "must be ask or trusted")
	}
	known := false
	for _, p := range Profiles {
		known = known || p == t.Sandbox
	}
	if !known {
		bad("sandbox", "must be "+strings.Join(Profiles, ", "))
	}
	if t.TTLMS < 0 || t.TTLMS > chat.MaxWorkspaceTTL.Milliseconds() {
		bad("ttl_ms", "from 0, which is never, to 30 days")
	}
	if t.SetupTimeoutMS < 0 || t.SetupTimeoutMS > chat.MaxSetupTimeout.Milliseconds() {
		bad("setup_timeout_ms", "from 0, which is ten minutes, to two hours")
	}
	if len(t.Setup) > maxSetup || strings.ContainsRune(t.Setup, 0) || !utf8.ValidString(t.Setup) {
		bad("setup", "at most 16 KiB of text")
	}
	for _, wrong := range rule.Wrong(t.Permissions) {
		bad("permissions."+wrong.Field, wrong.Detail)
	}
	v = append(v, checkVariables(t.Variables)...)
	return append(v, r.checkPlaces(ctx, t)...)
}

func checkVariables(vars map[string]string) []chat.Validation {
	if len(vars) > maxVariables {
		return []chat.Validation{{Field: "variables", Detail: "at most " + strconv.Itoa(maxVariables)}}
	}
	for name, value := range vars {
		if !variableName().MatchString(name) {
			return []chat.Validation{{Field: "variables", Detail: strconv.Quote(name) + " is no name of a variable"}}
		}
		if len(value) > maxVariable || strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
			return []chat.Validation{{Field: "variables", Detail: "the value of " + name + " must be at most 4 KiB of text"}}
		}
	}
	return nil
}

// checkPlaces looks at source and directory.
func (r *Room) checkPlaces(ctx context.Context, t chat.Template) []chat.Validation {
	var v []chat.Validation
	bad := func(field, detail string) { v = append(v, chat.Validation{Field: field, Detail: detail}) }
	switch {
	case t.Source == "":
		bad("source", "name the folder or repository")
	case len(t.Source) > maxSource || strings.ContainsFunc(t.Source, func(c rune) bool { return c < ' ' }) || !utf8.ValidString(t.Source):
		bad("source", "one line of at most 1024 bytes")
	case chat.TargetBeside(t.Target) && t.Kind != chat.TemplateClone:
		// What is there, and may be used, the agent finds out when it makes one.
		if !filepath.IsAbs(t.Source) {
			bad("source", "an absolute path on the agent's machine")
		}
	case t.Kind == chat.TemplateDirectory:
		if _, err := r.places.Resolve(ctx, t.Source); err != nil {
			bad("source", firstDetail(err))
		}
	case t.Kind == chat.TemplateWorktree && !filepath.IsAbs(t.Source):
		bad("source", "the absolute path of a repository on this machine")
	case t.Kind == chat.TemplateWorktree:
		if _, err := r.places.Resolve(ctx, t.Source); err != nil {
			bad("source", firstDetail(err))
		}
	case t.Kind == chat.TemplateClone:
		if why := checkAddress(t.Source); why != "" {
			bad("source", why)
		}
	}
	switch t.Kind {
	case chat.TemplateDirectory:
		if t.Directory != "" {
			bad("directory", "only clones and worktrees are made somewhere")
		}
	case chat.TemplateClone, chat.TemplateWorktree:
		if t.Directory != "" && !filepath.IsAbs(t.Directory) {
			bad("directory", "an absolute path")
		}
	default:
		bad("kind", "must be directory, clone or worktree")
	}
	return v
}

// checkAddress says what is wrong with what is to be cloned, "" for nothing.
func checkAddress(source string) string {
	if filepath.IsAbs(source) {
		return ""
	}
	const want = "an absolute path, or an address that begins with https:// or ssh://"
	if u, err := url.Parse(source); err == nil && u.Host != "" {
		switch {
		case u.Scheme != "https" && u.Scheme != "ssh":
			return want
		case u.Scheme == "https" && u.User != nil:
			return "leave name and password out of the address; a token in it would be shown"
		case u.User != nil && hasPassword(u.User), strings.HasPrefix(u.Host, "-"):
			return want
		}
		return ""
	}
	if strings.Contains(source, "://") || strings.Contains(source, "::") || !scpLike().MatchString(source) {
		return want
	}
	return ""
}

func hasPassword(u *url.Userinfo) bool {
	_, has := u.Password()
	return has
}

func refuseTemplate(wrong []chat.Validation, t chat.Template, all []chat.Template) error {
	for _, o := range all {
		if o.ID != t.ID && strings.EqualFold(o.Name, t.Name) {
			wrong = append(wrong[:len(wrong):len(wrong)], chat.Validation{Field: "name", Detail: "there is a template of this name"})
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return &chat.Error{Kind: chat.KindInvalid, Message: "The template is not valid.", Detail: wrong[0].Field + ": " + wrong[0].Detail, Validations: wrong}
}

// firstDetail is what a refusal says of its first field.
func firstDetail(err error) string {
	var e *chat.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	if len(e.Validations) > 0 {
		return e.Validations[0].Detail
	}
	return e.Message
}
