// Package text turns what models and tools wrote into HTML that can be shown without trust: Markdown (goldmark without raw HTML,
// then bluemonday), code with chroma's classes, terminal output with ANSI colours as spans, unified diffs as rows.
//
// Types: [HTML] is markup made here and nowhere else; [Block] is one top-level piece of a reply, so that a growing reply is sent
// piece by piece; [DiffFile] and [DiffRow] are a parsed difference; [Cache] keeps finished HTML by message id, bounded in bytes.
//
// Caveats: reference links must be defined in the same block as their use. Headings carry no ids. Lexers, the Markdown engine and
// the sanitiser are built at first use, because chroma's registries and bluemonday cost milliseconds at start.
package text
