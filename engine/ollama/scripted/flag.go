package scripted

import (
	"regexp"
	"strings"
	"sync"
)

// textEdit is one edit as the tool edit_files takes it.
type textEdit struct {
	Search  string `json:"search"`
	Replace string `json:"replace"`
}

const (
	mainLine  = "func main() {\n"
	parseLine = "\tflag.Parse()\n"
)

var (
	importBlock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^import \(\n((?:.*\n)*?)\)`) })
	importOne   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^import ("[^"]+")\n`) })
	mainBody    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^func main\(\) \{\n((?:.*\n)*?)\}`) })
)

// versionFlag gives the edits that teach a Go program --version, and whether it sees how: a file of package main with a plain
// func main that knows nothing of a version. A program with flags gets one more flag; any other looks at its first argument.
func versionFlag(source string) ([]textEdit, bool) {
	if !strings.Contains("\n"+source, "\npackage main\n") || strings.Count(source, mainLine) != 1 || strings.Contains(source, "\r") ||
		strings.Contains(strings.ToLower(source), "version") {
		return nil, false
	}
	body := mainBody().FindStringSubmatch(source)
	if body == nil {
		return nil, false
	}
	show := "fmt.Println(\"version 0.1.0\")"
	if !imports(source, "fmt") {
		show = "os.Stdout.WriteString(\"version 0.1.0\\n\")"
	}
	if imports(source, "flag") && strings.Count(source, parseLine) == 1 && strings.Contains(body[1], parseLine) {
		edits := []textEdit{{parseLine, "\tshowVersion := flag.Bool(\"version\", false, \"print the version and exit\")\n" + parseLine +
			"\tif *showVersion {\n\t\t" + show + "\n\t\treturn\n\t}\n"}}
		if strings.HasPrefix(show, "fmt.") {
			return edits, true
		}
		return addImport(source, edits)
	}
	edits := []textEdit{{mainLine, mainLine + "\tif len(os.Args) > 1 && os.Args[1] == \"--version\" {\n\t\t" + show + "\n\t\treturn\n\t}\n"}}
	return addImport(source, edits)
}

func imports(source, name string) bool {
	quoted := `"` + name + `"`
	if m := importBlock().FindStringSubmatch(source); m != nil {
		return strings.Contains("\n"+m[1], "\n\t"+quoted+"\n")
	}
	m := importOne().FindStringSubmatch(source)
	return m != nil && m[1] == quoted
}

// addImport adds os where gofmt wants it.
func addImport(source string, edits []textEdit) ([]textEdit, bool) {
	const added = "\t\"os\"\n"
	if imports(source, "os") {
		return edits, true
	}
	if m := importOne().FindStringSubmatch(source); m != nil && strings.Count(source, m[0]) == 1 {
		block := "import (\n\t" + m[1] + "\n" + added + ")\n"
		if m[1] > `"os"` {
			block = "import (\n" + added + "\t" + m[1] + "\n)\n"
		}
		return append(edits, textEdit{m[0], block}), true
	}
	m := importBlock().FindStringSubmatch(source)
	if m == nil {
		if strings.Contains(source, "import") || strings.Count(source, "package main\n") != 1 {
			return nil, false
		}
		return append(edits, textEdit{"package main\n", "package main\n\nimport \"os\"\n"}), true
	}
	group, _, _ := strings.Cut(m[1], "\n\n")
	lines := strings.SplitAfter(strings.TrimSuffix(group, "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	last := ""
	for _, line := range lines {
		if !strings.HasPrefix(line, "\t\"") || strings.Count(source, line) != 1 {
			return nil, false
		}
		if line > added {
			return append(edits, textEdit{line, added + line}), true
		}
		last = line
	}
	return append(edits, textEdit{last, last + added}), last != ""
}
