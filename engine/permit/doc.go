// Package permit decides whether a Call may run: allow, ask or deny.
//
// Set is a list of Rules with a default; Decide is pure. Any denying rule that matches wins, else the first rule that matches, else the
// default; protected paths ask whatever allows. Standard is the default where a set has none, Offer the rules that would allow a Call
// from now on. Caveats: paths are those of the real targets, relative to the Workspace, links resolved before; what lies outside begins
// with .. or / and is matched by no pattern but a deny.
package permit
