package chat

import (
	"crypto/sha256"
	"encoding/hex"
)

// maxToolName is how long a name may be that model servers take, in bytes.
const maxToolName = 64

// ServerToolName is how models know a tool of an MCP server: slug__tool, in the letters that they may use. One that is too long ends in
// the begin of its hash.
func ServerToolName(slug, tool string) string {
	full := slug + "__" + tool
	out := make([]byte, 0, len(full))
	for _, r := range full {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			out = append(out, byte(r))
		} else {
			out = append(out, '_')
		}
	}
	if len(out) <= maxToolName {
		return string(out)
	}
	sum := sha256.Sum256([]byte(full))
	end := "_" + hex.EncodeToString(sum[:])[:6]
	return string(out[:maxToolName-len(end)]) + end
}
