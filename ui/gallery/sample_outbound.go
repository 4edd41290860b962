package gallery

import (
	"github.com/a-h/templ"

	"holdfast/ui/view"
)

// outbounds are the proof page's states.
func outbounds() []specimen {
	hosts := []view.OutboundHost{
		{Host: "push.example.net", Port: "443", Called: 12, Last: "22 Nov 14:31:08", Attempts: []view.OutboundAttempt{{Purpose: "push", Address: "203.0.113.9", Allowed: true, Count: 12}}},
		{Host: "mcp.example.org", Port: "443", Refused: 3, Last: "22 Nov 14:30:59", Waits: true, Attempts: []view.OutboundAttempt{{Purpose: "MCP server", Reason: "not allowed yet", Count: 3}}},
		{Host: "nas.home", Port: "8080", Called: 1, Refused: 2, Last: "22 Nov 14:02:11", Waits: true, Local: true, More: 4, Attempts: []view.OutboundAttempt{
			{Purpose: "webhook", Address: "192.168.1.20", Reason: "local address", Count: 1}, {Purpose: "webhook", Address: "203.0.113.4", Allowed: true, Count: 1}}},
		{Host: "a-very-long-name-of-a-host-that-nobody-would-type.by-hand.internal.example.com", Port: "65535", Refused: 4021, Last: "21 Nov 09:12:44",
			Attempts: []view.OutboundAttempt{{Purpose: "model pull, by the model server", Reason: "offline", Count: 4021}}},
	}
	allowed := []view.OutboundAllowed{{Host: "push.example.net", Port: "443", Since: "20 Nov 10:00"}, {Host: "192.168.1.20", Port: "8080", Local: true, Since: "19 Nov 18:40"}}
	return []specimen{
		{"Nobody was called", "", []templ.Component{view.OutboundBody(view.OutboundPage{Mode: "deny", Bound: "deny"})}},
		{"Refused only", "", []templ.Component{view.OutboundBody(view.OutboundPage{Mode: "ask", Hosts: hosts[1:2]})}},
		{"Only names were asked for", "", []templ.Component{view.OutboundBody(view.OutboundPage{Mode: "ask", LookedUp: true, Hosts: hosts[1:2]})}},
		{"Hosts were called", "", []templ.Component{view.OutboundBody(view.OutboundPage{Mode: "open", Called: true, Hosts: hosts, Allowed: allowed})}},
		{"Refused input", "", []templ.Component{view.OutboundBody(view.OutboundPage{Mode: "ask", Bound: "ask", ModeError: "The mode was set to ask when the appliance was started.",
			Typed: view.OutboundAllowed{Host: "nas/files", Port: "x", Local: true}, AllowError: "A name or an address alone, such as example.org or 192.168.1.20."})}},
	}
}
