package chat

import (
	"strings"
	"time"
)

// Bounds of Files: the bytes of one, how many a Chat keeps, how many of those may come from Tools, and how many one Message may name.
const (
	MaxFileBytes    = 10 << 20
	MaxChatFiles    = 50
	MaxToolFiles    = 20
	MaxMessageFiles = 20
)

// File is what a person uploaded, or a Tool answered with. Its bytes never change; they stand in the store's files under SHA256.
type File struct {
	ID      FileID `json:"id"`
	OwnerID UserID `json:"owner_id"`
	Name    string `json:"name"`
	// MediaType is what the bytes look like, whatever the sender said.
	MediaType string    `json:"media_type"`
	Size      int64     `json:"size"`
	SHA256    string    `json:"sha256"`
	CreatedAt time.Time `json:"created_at"`
	// Dropped: the bytes are gone, or go with the next sweep.
	Dropped bool `json:"dropped,omitempty"`
	// FromTool: a Tool answered with it. Those make room first.
	FromTool bool `json:"from_tool,omitempty"`
	// Given: the model chose it for the user, so that newer pictures of tools do not take its place.
	Given bool `json:"given,omitempty"`
}

// FileLink ties a File to a Chat in which it was sent.
type FileLink struct {
	// N orders the links of a Chat.
	N int64 `json:"n"`
	// Dropped: the Chat has newer Files in its place.
	Dropped bool `json:"dropped,omitempty"`
}

// IsPicture says whether a media type is a raster image, which a page and a model with vision can show.
func IsPicture(mediaType string) bool {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp":
		return true
	}
	return false
}

// IsText says whether a File of this media type is text.
func IsText(mediaType string) bool { return strings.HasPrefix(mediaType, "text/") }
