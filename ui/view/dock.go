package view

import "strconv"

func settingsPost(chatID string) string {
	return "@post(" + js("/chats/"+chatID+"/settings") + ",{contentType:'form',selector:'#chat-settings',requestCancellation:'disabled'})"
}

type meterRect struct{ Tone, X, Width string }

// meterBars gives the parts as lengths along the bar, in whole percent with a gap of one, so that no style attribute is needed.
func meterBars(m Meter) []meterRect {
	parts := m.Parts
	if len(parts) == 0 {
		parts = []MeterPart{{Tokens: m.Used, Tone: "p1"}}
	}
	var out []meterRect
	x := 0
	for _, p := range parts {
		w := percent(p.Tokens, m.Limit)
		if p.Tokens > 0 && w == 0 {
			w = 1
		}
		w = min(w, 100-x)
		if w <= 0 {
			continue
		}
		out = append(out, meterRect{Tone: p.Tone, X: strconv.Itoa(x) + "%", Width: strconv.Itoa(w) + "%"})
		x += w + 1
	}
	return out
}

// placeholder is the hint of the empty composer; app.js keeps it in step while the page lives.
func placeholder(d Dock) string {
	if d.Closed {
		return "A part of this chat cannot be read, so nothing can be added to it"
	}
	if d.Running {
		return "Add to the queue, or Ctrl Enter to interrupt"
	}
	if d.Queues {
		return "Add to the queue"
	}
	return "Describe the next change"
}
