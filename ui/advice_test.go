package ui

import (
	"encoding/json"
	"slices"
	"testing"

	"holdfast/engine/chat"
	"holdfast/ui/view"
)

// TestALimitThatIsNoneHasNoFigure: where the site sets no limit of uses, what bounds them is the cap on steps, which is no figure for a person.
func TestALimitThatIsNoneHasNoFigure(t *testing.T) {
	for name, c := range map[string]struct {
		result, detail string
		want           []string
	}{
		"one of two left":     {`{"type":"advice","advice":"x","advisor_model":"m","remaining_uses":1}`, `{"uses":2}`, []string{"m", "1 of 2 uses left"}},
		"no limit":            {`{"type":"advice","advice":"x","advisor_model":"m","remaining_uses":1199}`, ``, []string{"m", "no limit"}},
		"no limit, loaded":    {`{"type":"error","error":"It is away.","advisor_model":"m","remaining_uses":1200}`, `{"load_ms":3000}`, []string{"m", "no limit"}},
		"the cap is reached":  {`{"type":"limit_reached","advice":"x","remaining_uses":0}`, ``, nil},
		"the limit of a site": {`{"type":"limit_reached","advice":"x","remaining_uses":0}`, `{"uses":3}`, []string{"0 of 3 uses left"}},
	} {
		var a view.Advice
		describeAdvice(&a, &chat.Part{Type: chat.PartToolResult, ToolName: chat.AdvisorTool, Result: json.RawMessage(c.result), Detail: json.RawMessage(c.detail)})
		if !slices.Equal(a.Facts, c.want) {
			t.Errorf("%s: %q", name, a.Facts)
		}
	}
}
