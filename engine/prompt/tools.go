package prompt

import "holdfast/engine/chat"

// FitTools leaves out the last Tools where the definitions would take more than a third of the window at three bytes per token.
func FitTools(defs []chat.ToolDef, window int) []chat.ToolDef {
	left := int64(window)
	for i := range defs {
		if left -= toolBytes(defs[i : i+1]); left < 0 {
			return defs[:i]
		}
	}
	return defs
}

// ToolBytes is what definitions take of a request for a model with that window, as RequestBytes counts them.
func ToolBytes(defs []chat.ToolDef, window int) int64 { return toolBytes(sizedTools(defs, window)) }
