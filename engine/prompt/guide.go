package prompt

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"holdfast/engine/chat"
)

// Guide is an instruction file as requests have it.
type Guide struct {
	Path string
	// Text is what is sent: cleaned, and cut when it is too long.
	Text string
	// LeftOut counts the bytes that were cut.
	LeftOut int64
	Hidden
}

// Hidden counts what was removed from an instruction file because a person who reads it rendered does not see it.
type Hidden struct{ Comments, Characters int }

// maxGuide bounds one instruction file, in bytes.
const maxGuide = 64 << 10

// guideRoom is what all instruction files together may have in a window: a quarter of it at three bytes per token.
func guideRoom(window int) int { return window / 4 * bytesPerToken }

// Guides gives the instruction files of a Snapshot in their order, with the head of each as far as there is room. directory is that of the
// Workspace.
func Guides(s *chat.Snapshot, directory string, window int) []Guide {
	if s == nil {
		return nil
	}
	var files []chat.Resource
	for _, r := range s.Resources {
		if r.Kind == chat.ResourceInstructionFile && r.Status == chat.ResourceOK {
			files = append(files, r)
		}
	}
	slices.SortStableFunc(files, func(a, b chat.Resource) int {
		return cmp.Or(cmp.Compare(placeOf(a, directory), placeOf(b, directory)), cmp.Compare(a.SourcePath, b.SourcePath), cmp.Compare(a.Source, b.Source))
	})
	out := make([]Guide, 0, len(files))
	left := guideRoom(window)
	for _, r := range files {
		g := guideOf(r.Source, r.Payload, left)
		left -= len(g.Text)
		if g.Text != "" || g.LeftOut > 0 || g.Hidden != (Hidden{}) {
			out = append(out, g)
		}
	}
	return out
}

// placeOf orders roots: the appliance's own, those that users added, the working directory, its child projects.
func placeOf(r chat.Resource, directory string) int {
	if r.SourcePath != "" {
		return 1
	}
	rest, below := strings.CutPrefix(r.Source, strings.TrimSuffix(directory, "/")+"/")
	switch {
	case directory == "" || !below:
		return 0
	case strings.Contains(rest, "/"):
		return 3
	}
	return 2
}

func guideOf(source string, content []byte, room int) Guide {
	text, hidden := plainGuide(string(content))
	g := Guide{Path: oneLine(source), Text: cutHead(text, max(0, min(room, maxGuide))), Hidden: hidden}
	g.LeftOut = int64(len(text) - len(g.Text))
	return g
}

// written is the guide as it stands in a prompt.
func (g Guide) written() string {
	text := g.Text
	if g.LeftOut > 0 {
		text = joinLines(text, chat.TextGap(g.LeftOut, g.Path))
	}
	if text == "" {
		return ""
	}
	return "<" + guideTag + " path=\"" + strings.ReplaceAll(g.Path, `"`, "'") + "\">\n" + text + "\n</" + guideTag + ">"
}

func joinLines(a, b string) string {
	if a == "" {
		return b
	}
	return strings.TrimRight(a, "\n") + "\n" + b
}

// guideTag marks one instruction file.
const guideTag = "instruction-file"

const guidesHead = "The person keeps these instructions with the files. Follow them; what the person says in the chat goes before."

// guides are the instruction files of a Turn.
func guides(in Input) string {
	if in.Workspace == nil {
		return ""
	}
	texts := []string{guidesHead}
	for _, g := range Guides(in.Snapshot, in.Workspace.Directory, in.Window) {
		texts = append(texts, g.written())
	}
	if len(texts) == 1 {
		return ""
	}
	return joinBlank(texts)
}

// plainGuide removes from an instruction file what its readers do not see: comments, and characters without a shape. A comment leaves a
// space, so that what stood around it does not join to another one.
func plainGuide(s string) (string, Hidden) {
	var h Hidden
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	s = strings.TrimPrefix(s, "\uFEFF")
	s, h.Characters = dropUnseen(s)
	if strings.Contains(s, "<!--") {
		s, h.Comments = dropComments(s)
		s = strings.TrimSpace(s)
	}
	return cleanText(s), h
}

// dropUnseen removes what visible drops, and joiners and selectors that stand where no script or emoji needs them.
func dropUnseen(s string) (plain string, n int) {
	if isPlain(s) {
		return s, 0
	}
	runes := []rune(s)
	kept := make([]rune, 0, len(runes))
	for i, r := range runes {
		switch {
		case r == '\u200C' || r == '\u200D':
			if !needsJoiner(kept, runes[i+1:]) {
				n++
				continue
			}
		case r >= 0xE0100 && r <= 0xE01EF:
			n++
			continue
		case visible(r) == -1:
			n++
			continue
		}
		kept = append(kept, r)
	}
	return string(kept), n
}

func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7F || c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// needsJoiner: there is something to join on both sides that is neither ASCII nor a joiner itself.
func needsJoiner(before, after []rune) bool {
	if len(before) == 0 || len(after) == 0 {
		return false
	}
	for _, r := range []rune{before[len(before)-1], after[0]} {
		if r < 0x80 || r == '\u200C' || r == '\u200D' {
			return false
		}
	}
	return true
}

// NestedGuide is the Part for an instruction file of a directory below the Workspace's, which a Tool has touched; room is what is left for
// instruction files in bytes. Its content is what the prompt has.
func NestedGuide(file string, content []byte, room int) chat.Part {
	g := guideOf(file, content, room)
	return chat.Part{Type: chat.PartContextFile, Path: file, Content: g.written(), Truncated: g.LeftOut > 0}
}

// GuideRoom is what is left for further instruction files in a request, in bytes.
func GuideRoom(in Input) int {
	left := guideRoom(in.Window)
	if in.Workspace != nil {
		for _, g := range Guides(in.Snapshot, in.Workspace.Directory, in.Window) {
			left -= len(g.Text)
		}
	}
	for _, p := range Nested(in.Messages) {
		left -= len(p.Content)
	}
	return max(left, 0)
}

// Nested gives the instruction files that Tools have met since the latest boundary: those that the prompt has.
func Nested(msgs []*chat.Message) []chat.Part {
	var out []chat.Part
	for _, m := range msgs[lastBoundary(msgs)+1:] {
		if m.Deleted {
			continue
		}
		for _, p := range m.Content {
			if p.Type == chat.PartContextFile {
				out = append(out, p)
			}
		}
	}
	return out
}

// nestedText is an instruction file that a Tool met, as the model reads it.
func nestedText(p *chat.Part) string {
	if p.Content == "" {
		return ""
	}
	return "The directory " + oneLine(path.Dir(p.Path)) + "/ has instructions of its own; they count for what is in it:\n" + p.Content
}

// ContextNews tells a running Turn what another Snapshot has that its own has not; "" for nothing that counts. It is longer than neither
// Snapshot's share of the window.
func ContextNews(was, now *chat.Snapshot, directory string, window int) string {
	old := map[string]string{}
	for _, g := range Guides(was, directory, window) {
		old[g.Path] = g.Text
	}
	texts := []string{"The person has renewed the instructions and skills of the workspace. These count from now on:"}
	for _, g := range Guides(now, directory, window) {
		if text, known := old[g.Path]; !known || text != g.Text {
			texts = append(texts, g.written())
		}
		delete(old, g.Path)
	}
	for _, g := range Guides(was, directory, window) {
		if _, gone := old[g.Path]; gone {
			texts = append(texts, "No longer there: "+g.Path)
		}
	}
	if list := Skills(now, window).Text; list != Skills(was, window).Text {
		texts = append(texts, "The skills from the next message of the person on:\n"+list)
	}
	if len(texts) == 1 {
		return ""
	}
	return joinBlank(texts)
}
