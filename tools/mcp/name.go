package mcp

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	maxToolName = 64
	hashDigits  = 6
)

// ToolName is the name under which models know a tool of a server: slug__tool, in the characters and the length that model servers take. A
// longer one is cut and ends in a hash of the whole.
func ToolName(slug, tool string) string {
	full := slug + "__" + tool
	name := []byte(full)
	for i, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			name[i] = '_'
		}
	}
	if len(name) <= maxToolName {
		return string(name)
	}
	sum := sha256.Sum256([]byte(full))
	return string(name[:maxToolName-hashDigits-1]) + "_" + hex.EncodeToString(sum[:])[:hashDigits]
}
