package link

import (
	"net/http"

	"holdfast/engine/chat"
)

// maxOutput bounds a text that is kept.
const maxOutput = 10 << 20

// keptShape is where a text was kept.
type keptShape struct {
	Path string `json:"path"`
}

// keepOutput keeps a text that is too long for a Result in the Chat's temporary directory.
func (a *API) keepOutput(w http.ResponseWriter, r *http.Request) {
	keeper, can := a.place.(chat.OutputKeeper)
	if !readQuery(r).ok(w) {
		return
	}
	text, refused := readBody(w, r, maxOutput)
	if refused != nil {
		refuse(w, refused.status, refused.problem)
		return
	}
	if !can || !chat.PlainName(string(chatOf(r))) {
		p := badRequest("The text cannot be kept.", "")
		refuse(w, p.status, p.problem)
		return
	}
	path, err := keeper.KeepOutput(chatOf(r), text)
	if err != nil {
		refuse(w, http.StatusInsufficientStorage, problem{Kind: "no_space", Message: "The text could not be kept.", Detail: asDetail(err)})
		return
	}
	writeJSON(w, http.StatusOK, keptShape{Path: path})
}
