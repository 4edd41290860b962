package skill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"holdfast/engine/chat"
)

const (
	// maxFiles is how many of its files a skill lists, maxFile how large one may be.
	maxFiles = 50
	maxFile  = 256 << 10
	// listDepth is how far below the skill's directory they are looked for.
	listDepth = 5
	// ownFile is the skill's own, which is not one of its files.
	ownFile = "SKILL.md"
)

// Tools are the two that read skills.
func Tools() []chat.Tool {
	return []chat.Tool{
		tool{run: read, def: chat.ToolDef{Name: ReadTool, Effect: chat.ClassRead, Workspace: true,
			Description: "Read a skill by name before doing what it describes.",
			Schema:      json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}},
		tool{run: readFile, def: chat.ToolDef{Name: FileTool, Effect: chat.ClassRead, Workspace: true,
			Description: "Read a file that belongs to a skill.",
			Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"of the skill"},` +
				`"path":{"type":"string","description":"relative to the skill's directory"}},"required":["name","path"]}`)}},
	}
}

type tool struct {
	def chat.ToolDef
	run func(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result
}

var _ chat.Tool = tool{}

// Def gives the definition.
func (t tool) Def() chat.ToolDef { return t.def }

// Run runs it.
func (t tool) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	return t.run(ctx, env, args)
}

type skillResult struct {
	Name    string   `json:"name"`
	Content string   `json:"content"`
	Files   []string `json:"files,omitempty"`
	Note    string   `json:"note,omitempty"`
}

func read(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	var in struct{ Name string }
	if err := json.Unmarshal(args, &in); err != nil {
		return failed("The arguments cannot be read: %v", err)
	}
	r, ok := Find(env.Context, in.Name)
	if !ok {
		return unknown(env, in.Name)
	}
	out := skillResult{Name: r.Name, Content: Body(r.Payload)}
	out.Files, out.Note = filesOf(ctx, env, r)
	return encoded(out, r)
}

// filesOf lists what lies beside the skill's own file, relative to its directory.
func filesOf(ctx context.Context, env chat.Env, r chat.Resource) (files []string, note string) {
	if env.Workspace == nil {
		return nil, ""
	}
	dir, err := dirOf(ctx, env.Workspace.Files(), r)
	if err != nil {
		return nil, "The files of this skill cannot be listed: " + reason(err)
	}
	found, err := env.Workspace.Files().Find(ctx, chat.FindQuery{Kind: chat.FindList, Path: dir, Depth: listDepth, Limit: 500})
	if err != nil {
		return nil, "The files of this skill cannot be listed: " + reason(err)
	}
	left := 0
	for _, e := range found.Entries {
		rel := strings.TrimPrefix(filepath.ToSlash(e.Path), dir+"/")
		if e.Type != "file" || rel == ownFile || refusedPath(rel) != "" {
			continue
		}
		if len(files) == maxFiles {
			left++
			continue
		}
		files = append(files, rel)
	}
	switch {
	case left > 0:
		note = fmt.Sprintf("%d more files are not listed.", left)
	case found.Incomplete != "":
		note = "Not all files are listed: " + found.Incomplete
	}
	return files, note
}

// dirOf gives the skill's directory below the Workspace's, links resolved.
func dirOf(ctx context.Context, files chat.Files, r chat.Resource) (string, error) {
	found, err := files.Find(ctx, chat.FindQuery{Kind: chat.FindList, Path: filepath.FromSlash(r.Source), Depth: 1, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(found.Entries) == 0 {
		return "", &chat.FileError{Kind: "not_found", Message: "The skill's directory is empty."}
	}
	return path.Dir(filepath.ToSlash(found.Entries[0].Path)), nil
}

func readFile(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	var in struct{ Name, Path string }
	if err := json.Unmarshal(args, &in); err != nil {
		return failed("The arguments cannot be read: %v", err)
	}
	r, ok := Find(env.Context, in.Name)
	if !ok {
		return unknown(env, in.Name)
	}
	if why := refusedPath(in.Path); why != "" {
		return failed("%s Give a path relative to the skill's directory, as %s lists it.", why, ReadTool)
	}
	if env.Workspace == nil {
		return failed("No workspace is attached to this chat, so the files of a skill cannot be read.")
	}
	files := env.Workspace.Files()
	dir, err := dirOf(ctx, files, r)
	if err != nil {
		return failed("%s cannot be read: %s", in.Path, reason(err))
	}
	f, err := files.Raw(ctx, filepath.FromSlash(path.Join(dir, in.Path)), maxFile)
	switch {
	case err != nil:
		return failed("%s cannot be read: %s", in.Path, reason(err))
	case !strings.HasPrefix(filepath.ToSlash(f.Path), dir+"/"):
		return failed("%s leads out of the skill's directory.", in.Path)
	case !utf8.Valid(f.Bytes) || bytes.IndexByte(f.Bytes, 0) >= 0:
		return failed("%s is a binary file of %d bytes and cannot be read as text.", in.Path, len(f.Bytes))
	}
	return encoded(struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}{in.Path, string(f.Bytes)}, r)
}

// refusedPath says why a path cannot be one of a skill's files, "" when it can.
func refusedPath(name string) string {
	slashed := strings.ReplaceAll(name, `\`, "/")
	switch {
	case strings.TrimSpace(name) == "":
		return "The path is empty."
	case path.IsAbs(slashed) || filepath.IsAbs(name) || len(slashed) > 1 && slashed[1] == ':':
		return "Absolute paths are refused."
	}
	for part := range strings.SplitSeq(slashed, "/") {
		switch {
		case part == "..":
			return `".." is refused.`
		case strings.HasPrefix(part, ".") && part != ".":
			return "Hidden names are refused."
		}
	}
	return ""
}

func unknown(env chat.Env, name string) chat.Result {
	have := names(env.Context)
	if have == "" {
		return failed("There is no skill %q: this workspace has none.", name)
	}
	return failed("There is no skill %q. The skills are: %s.", name, have)
}

func failed(format string, a ...any) chat.Result {
	return chat.Result{Content: fmt.Sprintf(format, a...), IsError: true}
}

func encoded(v any, r chat.Resource) chat.Result {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return failed("The skill cannot be encoded: %v", err)
	}
	detail, err := json.Marshal(chat.SkillDetail{Name: r.Name, Description: r.Description})
	if err != nil {
		return failed("The skill cannot be encoded: %v", err)
	}
	return chat.Result{Content: strings.TrimSpace(b.String()), Detail: detail}
}

func reason(err error) string {
	var refused *chat.FileError
	if errors.As(err, &refused) {
		return refused.Message
	}
	return err.Error()
}
