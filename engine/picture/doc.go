// Package picture makes of an image that somebody else has made one that a page and a model can be shown, and is the only room that knows the
// library for it.
//
// Fit gives a Picture: PNG, JPEG or WebP, at most MaxSide pixels on its longer side and MaxBytes long. What fits already keeps its bytes; all of it
// is decoded all the same, so that nothing broken is ever sent. The bytes are hostile: the size is read before anything is decoded, at most
// maxPixels of it are, and one image at a time, so that an image costs at most some 250 MB for a moment, whoever sends how many.
//
// Of an animation the first frame is taken. How a camera was held is not looked at.
package picture
