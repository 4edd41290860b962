// Package answer makes what a Tool answers: Failure for a text that says what went wrong, Of for one JSON object with its Detail,
// and Len, Prefix and Suffix to make text fit, measured as the bytes it takes inside a JSON string.
package answer
