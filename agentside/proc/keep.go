package proc

import (
	"errors"
	"fmt"

	"holdfast/engine/chat"
)

// KeepOutput writes text that is too long for a Result into a file of the Chat's directory, within the limits of all outputs.
func (s *Scope) KeepOutput(id chat.ID, text []byte) (path string, err error) {
	if len(text) > maxRecord {
		return "", fmt.Errorf("the text has more than %d MiB", maxRecord>>20)
	}
	r := s.manager.records.open(chat.ProcessStart{ChatID: id, ID: "result"})
	if r == nil {
		return "", errors.New("no file can be made for the text")
	}
	r.write(text)
	r.close()
	if path = r.name(); path == "" {
		return "", errNoRoom
	}
	return path, nil
}
