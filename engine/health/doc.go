// Package health says how the appliance itself does: its store, its disk, which records a read, check or scrub found damaged (Report), and
// what a look at everything finds (Line, Doctor).
//
// Caveats: damage is what was found since the start; a record that nobody read yet may be damaged as well. Admins see it, and of a damaged
// Chat no more than its id.
package health

//go:generate go run holdfast/engine/guardgen
