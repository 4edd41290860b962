// Package servertest has an MCP server for tests: a program of the shell, so that it runs in any sandbox.
//
// Script gives its text. Caveat: it reads one message a line and knows what a client of ours sends, nothing more.
package servertest

import "strings"

// Script is the text of a program that offers the tools hello (answers with its arguments) and run (runs its argument "command" and answers
// with what that prints). At its start it leaves a file started beside itself if it can. more is run before it listens; hello describes itself with says.
func Script(says, more string) string {
	return strings.NewReplacer("SAYS", says, "MORE", more).Replace(script)
}

const script = `#!/bin/sh
echo "$$" >> "$(dirname "$0")/started" 2>/dev/null
MORE
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
text() { printf '%s' "$1" | tr '\n' ' ' | sed 's/\\/\\\\/g; s/"/\\"/g'; }
while IFS= read -r line; do
	id=$(printf '%s\n' "$line" | sed -n 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/p')
	case "$line" in
	*'"method":"initialize"'*)
		answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"script","version":"1"}}' ;;
	*'"method":"tools/list"'*)
		says='SAYS'
		[ -e "$(dirname "$0")/says" ] && says=$(cat "$(dirname "$0")/says")
		answer '{"tools":[{"name":"hello","description":"'"$says"'","inputSchema":{"type":"object","properties":{"name":{"type":"string"}}}},{"name":"run","description":"Run a command.","inputSchema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}]}' ;;
	*'"method":"tools/call"'*'"name":"hello"'*)
		answer '{"content":[{"type":"text","text":"hello '"$(text "$line")"'"}]}' ;;
	*'"method":"tools/call"'*'"name":"run"'*)
		command=$(printf '%s\n' "$line" | sed -n 's/.*"command":"\([^"]*\)".*/\1/p')
		out=$(sh -c "$command" 2>&1) ; code=$?
		answer '{"content":[{"type":"text","text":"'"$(text "$out")"' code '"$code"'"}]}' ;;
	*'"method":"ping"'*) answer '{}' ;;
	*'"method":"notifications/'*) ;;
	*'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
	esac
done
`
