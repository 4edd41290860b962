// Package gallery shows every component of ui/view in every state on one page, and whole pages with sample content, for a look
// beside the design and for the browser tests. It is served under /gallery/ with -dev only.
//
// All sample content is written for this project: a small program that watches tide gauges. Nothing here is read from a store.
package gallery
