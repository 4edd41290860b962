package gguf

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Sizes of the network; the width of the embedding follows from the number of states.
const (
	headWidth = 32
	feedWidth = 32
	// trained is the window in tokens that the file claims.
	trained = 65536
	align   = 32
)

// File gives the bytes of a GGUF with the scripts.
func File(scripts []Script) ([]byte, error) {
	v, err := newVocabulary(scripts)
	if err != nil {
		return nil, err
	}
	width := (len(v.next) + align - 1) / align * align
	w := &writer{}
	w.metadata(v, width)
	w.network(v, width)
	return w.bytes(), nil
}

// writer collects the three parts of a GGUF: key-value pairs, tensor descriptions, tensor data.
type writer struct {
	pairs, tensors       bytes.Buffer
	data                 bytes.Buffer
	pairCount, tensCount uint64
}

func (w *writer) metadata(v *vocabulary, width int) {
	w.set("general.architecture", "llama")
	w.set("general.name", "scripted")
	w.set("general.file_type", uint32(0))
	w.set("llama.block_count", uint32(1))
	w.set("llama.context_length", uint32(trained))
	w.set("llama.embedding_length", uint32(width))
	w.set("llama.feed_forward_length", uint32(feedWidth))
	w.set("llama.attention.head_count", uint32(1))
	w.set("llama.attention.head_count_kv", uint32(1))
	w.set("llama.attention.key_length", uint32(headWidth))
	w.set("llama.attention.value_length", uint32(headWidth))
	w.set("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
	w.set("llama.rope.dimension_count", uint32(headWidth))
	w.set("llama.rope.freq_base", float32(10000))
	w.set("llama.vocab_size", uint32(len(v.texts)))
	w.set("tokenizer.ggml.model", "gpt2")
	w.set("tokenizer.ggml.pre", "gpt-2")
	w.set("tokenizer.ggml.tokens", v.texts)
	w.set("tokenizer.ggml.token_type", v.types)
	w.set("tokenizer.ggml.merges", v.pairs)
	w.set("tokenizer.ggml.bos_token_id", uint32(endToken))
	w.set("tokenizer.ggml.eos_token_id", uint32(endToken))
	w.set("tokenizer.ggml.add_bos_token", false)
	w.set("tokenizer.ggml.add_eos_token", false)
}

// network writes the tensors. The embedding of a token is 1 at its state. The block adds nothing. The output weight is 2 at
// [next token of the state][state], which after the norm is far above all others.
func (w *writer) network(v *vocabulary, width int) {
	embedding := make([]float32, len(v.texts)*width)
	for token, state := range v.state {
		embedding[token*width+state] = 1
	}
	output := make([]float32, len(v.texts)*width)
	for state, token := range v.next {
		output[token*width+state] = 2
	}
	ones := make([]float32, width)
	for i := range ones {
		ones[i] = 1
	}
	zeros := func(n int) []float32 { return make([]float32, n) }
	w.tensor("token_embd.weight", embedding, width, len(v.texts))
	w.tensor("blk.0.attn_norm.weight", ones, width)
	for _, part := range []string{"q", "k", "v"} {
		w.tensor("blk.0.attn_"+part+".weight", zeros(width*headWidth), width, headWidth)
	}
	w.tensor("blk.0.attn_output.weight", zeros(headWidth*width), headWidth, width)
	w.tensor("blk.0.ffn_norm.weight", ones, width)
	w.tensor("blk.0.ffn_gate.weight", zeros(width*feedWidth), width, feedWidth)
	w.tensor("blk.0.ffn_up.weight", zeros(width*feedWidth), width, feedWidth)
	w.tensor("blk.0.ffn_down.weight", zeros(feedWidth*width), feedWidth, width)
	w.tensor("output_norm.weight", ones, width)
	w.tensor("output.weight", output, width, len(v.texts))
}

// Types of values as the format numbers them.
const (
	kindUint32  = 4
	kindInt32   = 5
	kindFloat32 = 6
	kindBool    = 7
	kindString  = 8
	kindArray   = 9
)

func (w *writer) set(key string, value any) {
	w.pairCount++
	text(&w.pairs, key)
	switch x := value.(type) {
	case uint32:
		put(&w.pairs, uint32(kindUint32), x)
	case float32:
		put(&w.pairs, uint32(kindFloat32), x)
	case bool:
		put(&w.pairs, uint32(kindBool), x)
	case string:
		put(&w.pairs, uint32(kindString))
		text(&w.pairs, x)
	case []string:
		put(&w.pairs, uint32(kindArray), uint32(kindString), uint64(len(x)))
		for _, s := range x {
			text(&w.pairs, s)
		}
	case []int32:
		put(&w.pairs, uint32(kindArray), uint32(kindInt32), uint64(len(x)), x)
	}
}

// tensor adds 32-bit floats; the fastest dimension comes first.
func (w *writer) tensor(name string, values []float32, dims ...int) {
	w.tensCount++
	text(&w.tensors, name)
	put(&w.tensors, uint32(len(dims)))
	for _, d := range dims {
		put(&w.tensors, uint64(d))
	}
	put(&w.tensors, uint32(0), uint64(w.data.Len()))
	raw := make([]byte, 0, 4*len(values))
	for _, f := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	w.data.Write(raw)
	pad(&w.data)
}

func (w *writer) bytes() []byte {
	var out bytes.Buffer
	out.WriteString("GGUF")
	put(&out, uint32(3), w.tensCount, w.pairCount)
	out.Write(w.pairs.Bytes())
	out.Write(w.tensors.Bytes())
	pad(&out)
	out.Write(w.data.Bytes())
	return out.Bytes()
}

// put writes fixed-size values; a buffer takes them all.
func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		_ = binary.Write(b, binary.LittleEndian, v)
	}
}

func text(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

func pad(b *bytes.Buffer) {
	for b.Len()%align != 0 {
		b.WriteByte(0)
	}
}
