package file

import (
	"holdfast/engine/account"
	"holdfast/engine/chat"
)

var (
	policyUpload = account.AnyoneWrites[UploadInput]()
	policyGet    = account.OwnsFile(func(in GetInput) chat.FileID { return in.FileID })
	policyOpen   = account.OwnsFile(func(in OpenInput) chat.FileID { return in.FileID })
)
