// Package command reads a shell command line as a shell would, to say what it runs and writes before anything runs.
//
// Line is what was found: the simple commands, nested ones included, the files that redirections write, and in Unsure why no rule
// may say of the line that it is harmless. Caveats: what a program does with its arguments is not known here; a word that only the
// shell can expand is not Known. Whoever is unsure asks.
package command
