package ollama

import (
	"bytes"
	"unicode/utf8"
)

// The pieces of the line that carries nearly every token. Servers write it with these keys in this order; whatever looks different in a
// single byte is left to encoding/json, which takes fifteen times as long.
var (
	plainModel    = []byte(`{"model":"`)
	plainCreated  = []byte(`,"created_at":"`)
	plainContent  = []byte(`,"message":{"role":"assistant","content":"`)
	plainThinking = []byte(`,"thinking":"`)
	plainEnd      = []byte(`},"done":false}`)
)

// plainFrame reads a line of that form without escapes; ok is false for every other line. What it gives is what encoding/json gives.
func plainFrame(line []byte) (f frame, ok bool) {
	rest, ok := bytes.CutPrefix(line, plainModel)
	if !ok {
		return frame{}, false
	}
	if _, rest, ok = plainString(rest); !ok {
		return frame{}, false
	}
	if rest, ok = bytes.CutPrefix(rest, plainCreated); !ok {
		return frame{}, false
	}
	if _, rest, ok = plainString(rest); !ok {
		return frame{}, false
	}
	if rest, ok = bytes.CutPrefix(rest, plainContent); !ok {
		return frame{}, false
	}
	content, rest, ok := plainString(rest)
	if !ok {
		return frame{}, false
	}
	var thinking []byte
	if after, found := bytes.CutPrefix(rest, plainThinking); found {
		if thinking, rest, ok = plainString(after); !ok {
			return frame{}, false
		}
	}
	if !bytes.Equal(rest, plainEnd) {
		return frame{}, false
	}
	f.Message.Content, f.Message.Thinking = string(content), string(thinking)
	return f, true
}

// plainString cuts at the closing quote of a string that stands for itself.
func plainString(b []byte) (s, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '"')
	if end < 0 {
		return nil, nil, false
	}
	s = b[:end]
	for _, c := range s {
		if c < ' ' || c == '\\' {
			return nil, nil, false
		}
	}
	return s, b[end+1:], utf8.Valid(s)
}
