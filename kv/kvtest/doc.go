// Package kvtest gives tests a real store: Open in a fresh directory, OpenDir in a given one. Both are checked whole and closed when the
// test ends, and any damage fails it.
package kvtest
