package chat

// These are the shapes of Result.Detail, by Tool name. A page decodes them; a model never sees them. A Result without Detail
// (a failure, mostly) is shown from its Content alone.

// ReadDetail is the Detail of read_file: lines From to To (1 is the first, both 0 for none) of the Total in Path. The numbered
// lines themselves are the field "content" of the Result.
type ReadDetail struct {
	Path  string `json:"path"`
	From  int    `json:"from"`
	To    int    `json:"to"`
	Total int    `json:"total"`
}

// ChangeDetail is the Detail of write_file and edit_files, files in the order of the Call.
type ChangeDetail struct {
	Files []ChangedFile `json:"files"`
}

// ChangedFile is one file that was changed. Diff is unified, "" for a change that changed nothing; DiffCut says that its end was
// left out. Added and Removed count lines of the whole diff. Level is how loosely an edit matched: 0 exact, 1 trailing blanks
// ignored, 2 indentation ignored too.
type ChangedFile struct {
	Path    string `json:"path"`
	Diff    string `json:"diff"`
	DiffCut bool   `json:"diff_cut,omitempty"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Level   int    `json:"level"`
	Created bool   `json:"created"`
}

// ExecuteDetail is the Detail of execute. ProcessID is always set once the command started. Running says that it was still
// running when the Call ended (ExitCode is then -1); Background that nobody waited for it. Output is set only where the Result's
// own field "output" was cut further than this one. Sizes are bytes, times milliseconds.
type ExecuteDetail struct {
	Command    string `json:"command"`
	Workdir    string `json:"workdir"`
	ProcessID  string `json:"process_id"`
	Running    bool   `json:"running,omitempty"`
	Background bool   `json:"background,omitempty"`
	ExitCode   int    `json:"exit_code"`
	Signal     string `json:"signal,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	TotalBytes int64  `json:"total_bytes"`
	Output     string `json:"output,omitempty"`
	// Log is the path of the file with the whole output, "" when there is none.
	Log string `json:"log,omitempty"`
	// Lost is why nobody knows how it ended: "restarted" with its Agent, or "unreachable"; "" otherwise.
	Lost string `json:"lost,omitempty"`
}

// ProcessDetail is the Detail of process_output and process_signal.
type ProcessDetail struct {
	ProcessID string `json:"process_id"`
	Command   string `json:"command"`
	Running   bool   `json:"running"`
	ExitCode  int    `json:"exit_code"`
	// SentSignal is what process_signal sent, "" for process_output and when the process had ended already.
	SentSignal string `json:"sent_signal,omitempty"`
}

// ProcessListDetail is the Detail of process_list.
type ProcessListDetail struct {
	Processes []ProcessDetail `json:"processes"`
}

// ListDetail is the Detail of list_files: how many Entries below Path were found; Shown of them are in the Result.
type ListDetail struct {
	Path    string `json:"path"`
	Entries int    `json:"entries"`
	Shown   int    `json:"shown"`
}

// SearchDetail is the Detail of search_files: Matches in Files files were found; Shown of them are in the Result. Incomplete says
// what the search left out, "" when nothing.
type SearchDetail struct {
	Pattern    string `json:"pattern"`
	Kind       string `json:"kind"`
	Path       string `json:"path,omitempty"`
	Matches    int    `json:"matches"`
	Files      int    `json:"files"`
	Shown      int    `json:"shown"`
	Incomplete string `json:"incomplete,omitempty"`
}

// AdvisorDetail is the detail of advisor: how long its model took to load, 0 when it was in memory, and how many uses the site gave the Turn, 0
// when it set no limit.
type AdvisorDetail struct {
	LoadMS int64 `json:"load_ms,omitempty"`
	Uses   int   `json:"uses,omitempty"`
}

// SkillDetail is the Detail of read_skill and read_skill_file.
type SkillDetail struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}
