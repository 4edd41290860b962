package gguf

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Token types of the GGUF format.
const (
	tokenNormal  = 1
	tokenControl = 3
)

const endToken = 256

// vocabulary is the tokens of the model and the table that leads from one to the next.
type vocabulary struct {
	texts []string
	types []int32
	// state is the state of each token; next, the token that follows each state.
	state []int
	next  []int
	known map[string]bool
	bytes [256]string
	pairs []string
}

// newVocabulary lays out 256 byte tokens, the end, two role marks, the tokens of the merges, and a chain of tokens per script.
// Only prompts are made of bytes and merges: they all share one state, from which the Fallback follows.
func newVocabulary(scripts []Script) (*vocabulary, error) {
	v := &vocabulary{known: map[string]bool{}, bytes: byteAlphabet()}
	rest := v.newState()
	for _, text := range v.bytes {
		if _, err := v.add(text, tokenNormal, rest); err != nil {
			return nil, err
		}
	}
	for _, text := range []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"} {
		if _, err := v.add(text, tokenControl, rest); err != nil {
			return nil, err
		}
	}
	for _, p := range v.merges() {
		v.pairs = append(v.pairs, p.left+" "+p.right)
		if v.known[p.left+p.right] {
			continue
		}
		if _, err := v.add(p.left+p.right, tokenNormal, rest); err != nil {
			return nil, err
		}
	}
	if err := v.chain(rest, Script{Text: Fallback}); err != nil {
		return nil, err
	}
	for _, s := range scripts {
		begin := v.newState()
		if _, err := v.add("<|go:"+s.Key+"|>", tokenControl, begin); err != nil {
			return nil, err
		}
		if err := v.chain(begin, s); err != nil {
			return nil, fmt.Errorf("script %q: %w", s.Key, err)
		}
	}
	return v, nil
}

// byteAlphabet is how GPT-2 vocabularies spell bytes: printable ones as themselves, the others as runes from 256 on.
func byteAlphabet() [256]string {
	var out [256]string
	other := rune(256)
	for b := range 256 {
		if b >= '!' && b <= '~' || b >= 0xa1 && b != 0xad {
			out[b] = string(rune(b))
			continue
		}
		out[b] = string(other)
		other++
	}
	return out
}

func (v *vocabulary) spell(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString(v.bytes[s[i]])
	}
	return b.String()
}

func (v *vocabulary) newState() int {
	v.next = append(v.next, endToken)
	return len(v.next) - 1
}

func (v *vocabulary) add(text string, kind int32, state int) (int, error) {
	if v.known[text] {
		return 0, fmt.Errorf("two tokens are %q, which the server does not load", text)
	}
	v.known[text] = true
	v.texts, v.types, v.state = append(v.texts, text), append(v.types, kind), append(v.state, state)
	return len(v.texts) - 1, nil
}

// chain adds the tokens of a script, each with a state of its own, behind the state from.
func (v *vocabulary) chain(from int, s Script) error {
	parts := s.Parts
	if parts == nil {
		var err error
		if parts, err = v.pieces(s.Text); err != nil {
			return err
		}
	}
	first := endToken
	for i, p := range parts {
		state := v.newState()
		id, err := v.add(v.spell(p), tokenNormal, state)
		if err != nil {
			return err
		}
		if i == 0 {
			first = id
		}
		v.next[from] = id
		from = state
	}
	if s.Loop {
		v.next[from] = first
	}
	return nil
}

var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s*\S+\s*$|\s*\S+`) })

// pieces cuts a text into words and joins words until each piece is a token that no other script has.
func (v *vocabulary) pieces(text string) ([]string, error) {
	taken := map[string]bool{}
	free := func(s string) bool { return !taken[s] && !v.known[v.spell(s)] }
	var out []string
	open := ""
	for _, w := range word().FindAllString(text, -1) {
		open += w
		if free(open) {
			out, open = append(out, open), ""
			taken[out[len(out)-1]] = true
		}
	}
	// The end may be a piece that exists: join it backwards.
	for open != "" {
		if len(out) == 0 {
			return nil, fmt.Errorf("the text is the same as another one's piece: %q", text)
		}
		open = out[len(out)-1] + open
		out = out[:len(out)-1]
		if free(open) {
			out, open = append(out, open), ""
		}
	}
	return out, nil
}
