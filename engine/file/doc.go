// Package file keeps what people upload and is the command room for it.
//
// Room holds the commands; pages and the JSON API reach them through its Guarded form, which decides whose File it is. Upload looks at the
// bytes as they come and names their media type itself. Open gives them back; who serves them says with which headers.
//
// A File that is sent in no Chat goes after a day; the store sees to that. Which of a Chat's Files are kept is the engine's business.
package file

//go:generate go run holdfast/engine/guardgen
