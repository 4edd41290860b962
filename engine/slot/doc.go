// Package slot is the queue in front of a model server, for its adapters. Slots lets a few calls of each model run at once, Turns
// before quick calls; Ticket is one call's place.
//
// A Turn that finds no free slot ends a running call of another class, which then sees ErrPreempted as its context's cause.
package slot
