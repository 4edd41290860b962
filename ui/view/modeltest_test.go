package view

import "github.com/a-h/templ"

// modelGoldens are the parts of the models page.
func modelGoldens(hostile string) map[string]templ.Component {
	return map[string]templ.Component{
		"model-test": templ.Join(ModelTestState(ModelTest{ID: "a", Admin: true}), ModelTestState(ModelTest{ID: "b", Admin: true, Running: true, Status: "4 of 10, " + hostile, Percent: 30}),
			ModelTestState(ModelTest{ID: "c", Failed: hostile, FailedAt: "Today: ", Found: "As text.", Done: "Monday, in 2 s", Facts: []Fact{{"Reads", "9 tokens/s"}},
				Rows: []TestRow{{"i-list", "Stream", "in pieces", "yes", ""}, {"i-eye", "See", "a picture", "no", hostile}, {"i-file", "Shape", "as asked", "failed", "why"}, {"i-read", "Read", "all", "skipped", ""}}}),
			loadedList([]LoadedModel{{Name: hostile, Facts: "1 GB", Spills: "38 % beside the graphics card"}})),
		"model-form": templ.Join(ConfigForm(ModelConfig{ID: "a", Problem: "model: " + hostile, Groups: []FieldGroup{{Fields: []Field{{ID: "f", Name: "name", Label: "Name", Value: hostile},
			{ID: "g", Name: "tools", Label: "Tools", Options: Choices("x", "auto", "as it can")}, {Name: "send_reasoning", Label: "Send", Hint: "why", Box: true, Checked: true}}},
			{Title: "Sampling", Fields: []Field{{ID: "h", Name: "top_k", Label: "Top k", Hint: "0 or more.", Number: true, Error: "A number."}}}, {Title: "Loading"}}}),
			ThresholdForm("a", "", 70, false, ""), ThresholdForm("b", "55", 55, true, ""), ThresholdForm("c", hostile, 70, false, "Write a number.")),
	}
}
