// Package thought takes reasoning out of a model's text, for the adapters of model servers. Splitter is its one type; it is for one
// reply.
package thought
