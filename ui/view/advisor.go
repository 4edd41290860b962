package view

// AdvisorPage are the settings of the advisor, of the judgement about finished Turns, of compactions and of Turn summaries.
type AdvisorPage struct {
	Page       Page
	Note       ServerNote
	Advisor    AdvisorForm
	Classifier ClassifierForm
	Compaction CompactionForm
	Summaries  SummariesForm
	// Used is what the advisor used in the last seven days; nil without any.
	Used *AdvisorUsed
}

// AdvisorForm is the form of the advisor, as it stands or as it was refused. Errors name fields.
type AdvisorForm struct {
	// Fixed: whoever looks may not change it. ByFile: nobody may, since the configuration file sets it.
	Fixed   bool
	ByFile  bool
	Enabled bool
	Models  []Option
	Uses    string
	Tokens  string
	Effort  string
	Cost    SwapCost
	// Saved: it was just stored.
	Saved  bool
	Errors map[string]string
}

// SwapCost says what asking a model costs beside the tokens; Warn when the Chat's model has to go for it.
type SwapCost struct {
	Text string
	Warn bool
	// Evicts: loading it would push another model out of memory.
	Evicts bool
}

// ClassifierForm is the form of the judgement. Choices are selects in order, each with all models and an empty one.
type ClassifierForm struct {
	Fixed   bool
	ByFile  bool
	Enabled bool
	Choices [][]Option
	Saved   bool
	Error   string
}

// SummariesForm is the form of Turn summaries.
type SummariesForm struct {
	Fixed   bool
	ByFile  bool
	Enabled bool
	Saved   bool
	Error   string
}

// CompactionForm is the form of the model that summarises long chats. Cost says what asking it costs.
type CompactionForm struct {
	Fixed  bool
	ByFile bool
	Models []Option
	Cost   SwapCost
	Saved  bool
	Error  string
}

// AdvisorUsed sums up consultations, in words.
type AdvisorUsed struct {
	Consultations string
	Tokens        string
	// Time is the median of a consultation.
	Time string
	Cost string
	// Limited is how many of the Turns that asked reached the limit; Turns is "" where that was not counted.
	Limited, Turns string
}

func (f AdvisorForm) bad() bool { return len(f.Errors) > 0 }

var efforts = []Option{{Value: "", Label: "As the model likes"}, {Value: "low", Label: "Low"}, {Value: "medium", Label: "Medium"}, {Value: "high", Label: "High"}}
