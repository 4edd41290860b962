package site

import (
	"context"
	"strconv"

	"holdfast/engine/chat"
	"holdfast/kv"
)

// ClassifierKey is the name of the classifier's record in the store; the value is a chat.ClassifierConfig.
const ClassifierKey = "classifier"

// maxCandidates bounds the models that are tried for a small generation.
const maxCandidates = 20

// ReadClassifier gives the classifier's configuration; on, without candidates, where nothing was stored.
func ReadClassifier(tx *kv.Tx) (chat.ClassifierConfig, error) {
	return kv.SiteOf(tx, ClassifierKey, chat.ClassifierConfig{Enabled: true})
}

// ClassifierInput asks for the classifier's configuration.
type ClassifierInput struct{}

// Classifier says whether finished Turns are judged, and by which models.
func (r *Room) Classifier(ctx context.Context, _ chat.Principal, _ ClassifierInput) (chat.ClassifierConfig, error) {
	var out chat.ClassifierConfig
	err := r.store.View(ctx, func(tx *kv.Tx) (err error) {
		out, err = ReadClassifier(tx)
		return err
	})
	return out, err
}

// SetClassifierInput replaces the configuration whole.
type SetClassifierInput struct{ chat.ClassifierConfig }

// SetClassifier stores whether finished Turns are judged. It counts from each Chat's next Turn.
func (r *Room) SetClassifier(ctx context.Context, _ chat.Principal, in SetClassifierInput) (Done, error) {
	c := in.ClassifierConfig
	if len(c.Candidates) > maxCandidates {
		return Done{}, chat.Invalid("candidates", "at most "+strconv.Itoa(maxCandidates))
	}
	return Done{}, r.put(ctx, ClassifierKey, func(tx *kv.Tx) error {
		for _, id := range c.Candidates {
			found, err := known(tx, id)
			if err != nil {
				return err
			}
			if !found {
				return chat.Invalid("candidates", "there is no model "+strconv.Quote(string(id)))
			}
		}
		return tx.PutSite(ClassifierKey, c)
	})
}
