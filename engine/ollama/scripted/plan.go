package scripted

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// demoNotes is the file that the demo writes where it cannot change code.
const demoNotes = "HOLDFAST-DEMO.md"

// plan is where a Turn of the demo stands, read from the results so far.
type plan struct {
	prompt *Prompt
	user   string
	// list, advice, change and run are the newest results of each kind, read and notes those of the chosen file and of the notes of an earlier
	// Turn; changes counts the attempts.
	list, read, notes, advice, change, run *Result
	changes                                int
	files                                  []string
	chosen                                 string
}

func newPlan(p *Prompt) *plan {
	pl := &plan{prompt: p, user: strings.TrimSpace(p.User())}
	for _, r := range p.Results() {
		switch r.Name {
		case "list_files":
			pl.list = &r
		case "read_file":
			if pl.read == nil {
				pl.read = &r
			}
			if r.path() == demoNotes {
				pl.notes = &r
			}
		case "advisor":
			pl.advice = &r
		case "write_file", "edit_files":
			pl.change = &r
			pl.changes++
		case "execute":
			pl.run = &r
		}
	}
	if pl.list != nil {
		pl.files = listedFiles(pl.list.Content)
		pl.chosen = choose(pl.files, pl.user)
	}
	return pl
}

// next is the one next step, or the report at the end.
func (p *plan) next() Reply {
	if p.list == nil {
		return step("First I look which files are there.", "I am the scripted demo. I look at the workspace first.",
			"list_files", map[string]any{"path": ".", "depth": 2})
	}
	if failure(p.list.Content) != "" {
		return p.report()
	}
	if p.read == nil && p.chosen != "" && p.prompt.Offers("read_file") {
		return step("There are "+count(len(p.files), "file")+". I read "+p.chosen+".", "", "read_file", map[string]any{"path": p.chosen})
	}
	if reply, ok := p.adviceStep(); ok {
		return reply
	}
	if reply, ok := p.changeStep(); ok {
		return reply
	}
	if p.run == nil && p.works() && p.prompt.Offers("execute") {
		return step("A command shows whether all is well.", "Now I run a command that changes nothing.",
			"execute", map[string]any{"command": p.command(), "timeout": "2m"})
	}
	return p.report()
}

// works: a question gets an answer, everything else a whole Turn.
func (p *plan) works() bool {
	return !strings.HasSuffix(p.user, "?") || wantsWork().MatchString(p.user)
}

// changeStep edits the program if it can see how, else it writes a note; a refused edit is followed by the note once.
func (p *plan) changeStep() (Reply, bool) {
	done := p.change != nil && (failure(p.change.Content) == "" || p.changes > 1 || p.change.Name == "write_file")
	if done || !p.works() {
		return Reply{}, false
	}
	if p.change == nil && p.prompt.Offers("edit_files") {
		if edits, ok := versionFlag(p.source()); ok {
			return step(p.chosen+" is a Go program without a --version flag. I can add one.", "I add a `--version` flag to `"+p.chosen+"`.",
				"edit_files", map[string]any{"files": []any{map[string]any{"path": p.chosen, "edits": edits}}}), true
		}
	}
	if !p.prompt.Offers("write_file") {
		return Reply{}, false
	}
	if p.notes == nil && slices.Contains(p.files, demoNotes) && p.prompt.Offers("read_file") {
		return step("There are notes of an earlier turn. I read them before I add to them.", "", "read_file", map[string]any{"path": demoNotes}), true
	}
	return step("I do not know how to change this file well, so I write a note.", "I write down what I saw in `"+demoNotes+"`.",
		"write_file", map[string]any{"path": demoNotes, "content": p.note()}), true
}

// source is the text of the chosen file, "" unless it was read whole.
func (p *plan) source() string {
	if p.read == nil || !strings.HasSuffix(p.chosen, ".go") {
		return ""
	}
	text, whole := readText(p.read.Content)
	if !whole {
		return ""
	}
	return text
}

// note is the content of the demo's file: what is in it already, and one entry.
func (p *plan) note() string {
	var b strings.Builder
	b.WriteString("# Notes of the Holdfast demo\n\nWritten by the scripted demo, which is not a language model. It may be deleted.\n")
	if p.notes != nil {
		if text, whole := readText(p.notes.Content); whole && text != "" {
			b.Reset()
			b.WriteString(strings.TrimRight(text, "\n") + "\n")
		}
	}
	b.WriteString("\n- Asked for: " + cutText(oneLine(p.user), 200) + "\n")
	b.WriteString("- Seen: " + count(len(p.files), "file"))
	if shown := p.files[:min(5, len(p.files))]; len(shown) > 0 {
		b.WriteString(", such as `" + strings.Join(shown, "`, `") + "`")
	}
	b.WriteString("\n")
	if p.read != nil && p.chosen != demoNotes {
		if text, _ := readText(p.read.Content); text != "" {
			b.WriteString("- `" + p.chosen + "` begins: `" + cutText(strings.ReplaceAll(oneLine(text), "`", "'"), 100) + "`\n")
		}
	}
	return b.String()
}

// command is harmless: it reads, compiles or tests.
func (p *plan) command() string {
	if !slices.Contains(p.files, "go.mod") {
		return "ls -la"
	}
	command := "go vet ./..."
	if wantsTest().MatchString(p.user) {
		command += " && go test ./..."
	}
	if p.change != nil && p.change.Name == "edit_files" && failure(p.change.Content) == "" && path.Dir(p.chosen) == "." {
		command += " && go run . --version"
	}
	return command
}

// step says a sentence and makes one call.
func step(thought, text, tool string, args map[string]any) Reply {
	raw, err := json.Marshal(args)
	if err != nil {
		return Text("The demo could not write its call: " + err.Error())
	}
	frames := Thoughts(thought)
	if text != "" {
		frames = append(frames, Words(text)...)
	}
	return Reply{Frames: append(frames, Frame{Calls: []Call{{Name: tool, Args: raw}}})}
}

// listedFiles reads the paths of a list_files result: a line each, directories end in a slash.
func listedFiles(content string) []string {
	var out struct {
		Output string `json:"output"`
	}
	if json.Unmarshal([]byte(content), &out) != nil {
		out.Output = content
	}
	var files []string
	for line := range strings.Lines(out.Output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasSuffix(line, "/") || strings.HasPrefix(line, "[") || strings.Contains(line, " -> ") ||
			line == "the directory is empty" {
			continue
		}
		files = append(files, line)
	}
	return files
}

var textFiles = []string{".md", ".txt", ".go", ".py", ".js", ".ts", ".rs", ".c", ".h", ".java", ".rb", ".sh", ".html", ".css", ".json", ".toml",
	".yaml", ".yml"}

// choose takes the file that the person named, else main.go, the notes of an earlier Turn, README.md, the first text file.
func choose(files []string, user string) string {
	for _, f := range files {
		if isText(f) && strings.Contains(user, path.Base(f)) {
			return f
		}
	}
	for _, name := range []string{"main.go", demoNotes, "README.md"} {
		best := ""
		for _, f := range files {
			if path.Base(f) == name && (best == "" || strings.Count(f, "/") < strings.Count(best, "/")) {
				best = f
			}
		}
		if best != "" {
			return best
		}
	}
	for _, f := range files {
		if isText(f) && !strings.HasPrefix(f, ".") {
			return f
		}
	}
	return ""
}

func isText(file string) bool { return slices.Contains(textFiles, strings.ToLower(path.Ext(file))) }

// readText takes the line numbers off a read_file result and says whether it is the whole file. Each line ends in a newline.
func readText(content string) (text string, whole bool) {
	var out struct {
		Content    string `json:"content"`
		TotalLines int    `json:"total_lines"`
		LinesRead  int    `json:"lines_read"`
		NextOffset int    `json:"next_offset"`
	}
	if json.Unmarshal([]byte(content), &out) != nil {
		return "", false
	}
	var b strings.Builder
	for line := range strings.Lines(out.Content) {
		_, after, numbered := strings.Cut(line, "\t")
		if !numbered {
			return "", false
		}
		b.WriteString(strings.TrimSuffix(after, "\n") + "\n")
	}
	return b.String(), out.NextOffset == 0 && out.LinesRead == out.TotalLines
}

// failure is the text of a result that is an error, "" for any other.
func failure(content string) string {
	var out struct {
		Error string `json:"error"`
	}
	if json.Unmarshal([]byte(content), &out) != nil {
		return ""
	}
	return out.Error
}
