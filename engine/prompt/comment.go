package prompt

import "strings"

// A comment in an instruction file is hidden from whoever reads it rendered, so it is not sent; one in a fenced block of code is shown
// there and stays. What is a fence is decided so that nothing hidden is taken for shown: only fences at the beginning of a line count, and
// none once the file has something that could make one mean something else: HTML of its own, or a fence that is indented, quoted or listed.

// scanner takes the comments out of a Markdown text, line by line.
type scanner struct {
	out      strings.Builder
	comments int
	// fence is the marks that opened the present block of code, "" outside of one. html: inside of HTML that ends with a blank line.
	fence string
	html  bool
	// unsure: fences do not count any more. open: no comment ends any more.
	unsure, open bool
}

// dropComments gives the text without its hidden comments, and how many there were. A comment leaves a space.
func dropComments(s string) (string, int) {
	var c scanner
	for len(s) > 0 {
		line, rest, _ := strings.Cut(s, "\n")
		if c.fence != "" || c.opens(line) {
			c.code(line)
			c.write(s[:len(s)-len(rest)])
			s = rest
			continue
		}
		at := strings.Index(line, "<!--")
		if at < 0 {
			c.write(s[:len(s)-len(rest)])
			s = rest
			continue
		}
		end := -1
		if !c.open {
			end = strings.Index(s[at+4:], "-->")
			c.open = end < 0
		}
		switch {
		case end >= 0:
			c.comments++
			c.write(s[:at] + " ")
			s = s[at+4+end+3:]
			// What stands behind it is not the beginning of a line.
			tail, after, _ := strings.Cut(s, "\n")
			if !strings.Contains(tail, "<!--") {
				c.write(s[:len(s)-len(after)])
				s = after
			}
		case at <= 3 && strings.TrimSpace(line[:at]) == "" && c.atLine():
			// Markdown takes all behind it for the comment.
			c.comments++
			return c.out.String(), c.comments
		default:
			c.write(s[:len(s)-len(rest)])
			s = rest
		}
	}
	return c.out.String(), c.comments
}

func (c *scanner) write(s string) { c.out.WriteString(s) }

// atLine: what comes next is at the beginning of a line.
func (c *scanner) atLine() bool {
	text := c.out.String()
	return text == "" || strings.HasSuffix(text, "\n")
}

// opens says whether a line begins a block of code, and notes what makes fences unsure.
func (c *scanner) opens(line string) bool {
	bare := strings.TrimLeft(line, " \t>-*+.)0123456789")
	marks := fenceOf(bare)
	switch {
	case strings.TrimSpace(line) == "":
		c.html = false
	case bare != line && marks != "":
		c.unsure = true
	case strings.HasPrefix(bare, "<") && !strings.HasPrefix(bare, "<!--"):
		c.html = true
		for _, raw := range []string{"<pre", "<script", "<style", "<textarea", "<?", "<!"} {
			c.unsure = c.unsure || strings.HasPrefix(strings.ToLower(bare), raw)
		}
	}
	if c.unsure || c.html || bare != line || marks == "" || !c.atLine() {
		return false
	}
	// Behind backticks there is none on the line of a fence.
	return marks[0] == '~' || !strings.Contains(line[len(marks):], "`")
}

// code follows a block of code from the line that opens it to the one that closes it.
func (c *scanner) code(line string) {
	if c.fence == "" {
		c.fence = fenceOf(line)
		return
	}
	inner := strings.TrimLeft(line, " ")
	if marks := fenceOf(inner); len(line)-len(inner) <= 3 && marks != "" && marks[0] == c.fence[0] && len(marks) >= len(c.fence) && strings.TrimRight(inner[len(marks):], " \t") == "" {
		c.fence = ""
	}
}

// fenceOf gives the marks that a line begins with, "" unless they can be a fence.
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, mark)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}
