// Package static holds the files a browser loads: two style sheets, one small script, the icons, and the Datastar bundle that the
// build fetches into vendor/ (see vendor/NOTICE).
//
// [Assets] names each file by a hash of its content, so that a browser may keep it for ever, and serves it. With a directory it
// reads the files from there each time, for work on the pages. Without the bundle the package builds and [Assets.Missing] names it.
package static
