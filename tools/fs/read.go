package fs

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"holdfast/engine/chat"
	"holdfast/tools/answer"
)

// lineCut ends a line of which the end is left out; it is what the Workspace's files write as well.
const lineCut = " [line cut]"

// reader is read_file. Its Detail is a chat.ReadDetail.
type reader struct{ o Options }

var _ chat.Tool = reader{}

func (reader) Def() chat.ToolDef {
	return chat.ToolDef{
		Name:        "read_file",
		Description: "Read a text file with line numbers. For long files give offset and limit.",
		Short:       "Read a text file with line numbers.",
		Effect:      chat.ClassRead,
		Workspace:   true,
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"path":{"type":"string","description":"relative to the workspace"},` +
			`"offset":{"type":"integer","description":"first line to read; 1 is the first"},` +
			`"limit":{"type":"integer","description":"how many lines, at most 2000"}},` +
			`"required":["path"]}`),
	}
}

// readResult is what the model sees of a file.
type readResult struct {
	Content    string `json:"content"`
	FileSize   int64  `json:"file_size"`
	TotalLines int    `json:"total_lines"`
	LinesRead  int    `json:"lines_read"`
	NextOffset int    `json:"next_offset,omitempty"`
}

func (r reader) Run(ctx context.Context, env chat.Env, args json.RawMessage) chat.Result {
	if env.Workspace == nil {
		return answer.Failure(answer.NoWorkspace)
	}
	var in struct {
		Path          string
		Offset, Limit int
	}
	if err := parse(args, &in); err != nil {
		return answer.Failure("%v", err)
	}
	lines, err := env.Workspace.Files().Lines(ctx, chat.LinesQuery{
		Path:   in.Path,
		Offset: max(in.Offset, 1),
		Limit:  r.limit(in.Limit, env.Window),
		// One line and its number always fit into 2 KiB, so that there is something to cut when the Result may be even smaller.
		MaxBytes: max(env.MaxText, 2048),
	})
	var fe *chat.FileError
	if errors.As(err, &fe) && fe.Kind == "binary" && ctx.Err() == nil {
		return answer.Failure("%s To give it to the user, call attach_file.", fe.Message)
	}
	if err != nil {
		return refused(ctx, err)
	}
	env.Reads.Note(lines.Path, lines.Hash)
	out := fitRead(lines, max(in.Offset, 1), env.MaxText)
	detail := chat.ReadDetail{Path: lines.Path, Total: lines.TotalLines}
	if out.LinesRead > 0 {
		detail.From = max(in.Offset, 1)
		detail.To = detail.From + out.LinesRead - 1
	}
	return answer.Of(out, detail)
}

func (r reader) limit(asked, window int) int {
	if asked > 0 {
		return min(asked, r.o.ReadLines)
	}
	if window < r.o.SmallWindow {
		return r.o.SmallReadLines
	}
	return r.o.ReadLines
}

// fitRead leaves out lines at the end until the Result is at most maxText bytes; what is left out is read from next_offset on. A
// first line that does not fit is cut, or reading on would never pass it.
func fitRead(lines chat.Lines, offset, maxText int) readResult {
	out := readResult{Content: lines.Content, FileSize: lines.FileSize, TotalLines: lines.TotalLines, LinesRead: lines.LinesRead,
		NextOffset: lines.NextOffset}
	if b, err := answer.Encode(out); err == nil && len(b) <= maxText {
		return out
	}
	frame, err := answer.Encode(readResult{FileSize: out.FileSize, TotalLines: out.TotalLines, LinesRead: out.LinesRead,
		NextOffset: out.TotalLines + 1})
	if err != nil {
		return out
	}
	room := maxText - len(frame)
	kept, used := 0, 0
	var b strings.Builder
	for line := range strings.SplitAfterSeq(lines.Content, "\n") {
		n := answer.Len(line)
		if line == "" || used+n > room {
			break
		}
		b.WriteString(line)
		kept, used = kept+1, used+n
	}
	if kept == 0 {
		first, _, _ := strings.Cut(lines.Content, "\n")
		b.WriteString(answer.Prefix(first, room-len(lineCut)) + lineCut)
		kept = 1
	}
	out.Content, out.LinesRead = strings.TrimSuffix(b.String(), "\n"), kept
	out.NextOffset = 0
	if offset+kept <= lines.TotalLines {
		out.NextOffset = offset + kept
	}
	return out
}
