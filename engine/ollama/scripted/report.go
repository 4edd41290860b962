package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// reportLines is how much of a command's output the report shows.
const reportLines = 12

// report is the last answer of a Turn; it says nothing that the results do not say.
func (p *plan) report() Reply {
	var b strings.Builder
	b.WriteString("This is the **scripted demo**, not a language model. The steps below are fixed; the tools and what they returned are real.\n\n")
	p.reportFiles(&b)
	p.reportAdvice(&b)
	p.reportChange(&b)
	p.reportRun(&b)
	b.WriteString("\nFor real work choose a real model: pull or import one on the models page.")
	return demoSays("All steps are done. I report what the results say.", b.String())
}

func (p *plan) reportFiles(b *strings.Builder) {
	if why := failure(p.list.Content); why != "" {
		b.WriteString("- I could not list the files: " + quoteLine(why) + "\n")
		return
	}
	b.WriteString("- The workspace has " + count(len(p.files), "file") + " within two levels.\n")
	if p.read == nil {
		if p.chosen == "" {
			b.WriteString("- None of them is a text file that I know, so I read none.\n")
		}
		return
	}
	if why := failure(p.read.Content); why != "" {
		b.WriteString("- I could not read `" + p.chosen + "`: " + quoteLine(why) + "\n")
		return
	}
	text, whole := readText(p.read.Content)
	fmt.Fprintf(b, "- I read `%s`: %s", p.chosen, count(strings.Count(text, "\n"), "line"))
	if !whole {
		b.WriteString(", which is only a part of it")
	}
	b.WriteString(".\n")
}

func (p *plan) reportAdvice(b *strings.Builder) {
	if p.advice == nil {
		return
	}
	var out struct{ Type, Advice, Error string }
	if json.Unmarshal([]byte(p.advice.Content), &out) != nil || out.Type != "advice" {
		b.WriteString("- I asked the advisor and got no advice: " + quoteLine(out.Error) + "\n")
		return
	}
	first, _, _ := strings.Cut(oneLine(strings.ReplaceAll(out.Advice, "*", "")), ". ")
	b.WriteString("- The advisor said: " + quoteLine(first) + ".\n")
}

func (p *plan) reportChange(b *strings.Builder) {
	switch {
	case p.change == nil:
		b.WriteString("- I changed nothing.\n")
	case failure(p.change.Content) != "":
		b.WriteString("- My change was refused: " + quoteLine(failure(p.change.Content)) + "\n")
	case p.change.Name == "edit_files":
		b.WriteString("- I changed `" + p.chosen + "`: with `--version` the program now prints its version and ends.\n")
	default:
		b.WriteString("- I wrote `" + demoNotes + "`, since I saw no change to code that I know how to make.\n")
	}
}

func (p *plan) reportRun(b *strings.Builder) {
	if p.run == nil {
		return
	}
	var args struct {
		Command string `json:"command"`
	}
	// The call is our own; without its text the report still holds.
	_ = json.Unmarshal(p.run.Args, &args)
	var out struct {
		Success  bool   `json:"success"`
		Output   string `json:"output"`
		ExitCode int    `json:"exit_code"`
		WallMS   int64  `json:"wall_duration_ms"`
		Error    string `json:"error"`
	}
	if err := json.Unmarshal([]byte(p.run.Content), &out); err != nil {
		b.WriteString("- The command `" + args.Command + "` gave a result that I cannot read.\n")
		return
	}
	took := tookWords(time.Duration(out.WallMS) * time.Millisecond)
	switch {
	case out.Success:
		fmt.Fprintf(b, "- `%s` succeeded in %s.\n", args.Command, took)
	case out.Error != "" && out.Output == "" && out.ExitCode == 0:
		b.WriteString("- `" + args.Command + "` did not run: " + quoteLine(out.Error) + "\n")
	default:
		fmt.Fprintf(b, "- `%s` **failed** with exit code %d after %s.\n", args.Command, out.ExitCode, took)
		if out.Error != "" {
			b.WriteString("  " + quoteLine(out.Error) + "\n")
		}
	}
	lines := strings.Split(strings.TrimRight(out.Output, "\n"), "\n")
	if out.Output == "" {
		return
	}
	if left := len(lines) - reportLines; left > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", left)}, lines[left:]...)
	}
	b.WriteString("\n````text\n" + strings.ReplaceAll(strings.Join(lines, "\n"), "````", "'''") + "\n````\n")
}

// tookWords writes a duration as the rows of calls do.
func tookWords(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d m %02d s", int(d.Minutes()), int(d.Seconds())%60)
}

func quoteLine(s string) string { return cutText(oneLine(s), 240) }

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
