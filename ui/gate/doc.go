// Package gate stands in front of all routes: it decides who is heard at all, before a page or the API sees a request.
//
// A Gate is made of Options and of the whole route table; a Route without a Policy cannot exist. The order, outermost first: Host,
// panic guard, request id and limits, security headers, origin, authentication, authorisation, route. Principal and RequestID give
// handlers what was found out, WriteError is the one place where an error becomes an answer. Listen, ListenSocket and Server make
// what the Gate is served on.
//
// Caveats: every wrapper of a ResponseWriter here has Unwrap, so use http.ResponseController. The context of a Stream route ends
// when the credential does. The Unix socket carries no authority: it is asked for a token like everything else.
package gate
