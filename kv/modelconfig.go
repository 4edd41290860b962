package kv

import "holdfast/engine/chat"

var modelConfigFields = fieldsOf[chat.ModelConfig]()

// ModelConfig gives a Model config.
func (tx *Tx) ModelConfig(id chat.ModelConfigID) (*chat.ModelConfig, bool, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, false, err
	}
	return getNoun[chat.ModelConfig](tx, bModelConfig, key)
}

// PutModelConfig writes a Model config.
func (tx *Tx) PutModelConfig(m *chat.ModelConfig) error {
	key, err := idKey(m.ID)
	if err != nil {
		return err
	}
	return putNoun(tx, bModelConfig, key, m, modelConfigFields)
}

// ModelConfigs gives all Model configs, oldest first.
func (tx *Tx) ModelConfigs() ([]*chat.ModelConfig, error) {
	return listNoun[chat.ModelConfig](tx, bModelConfig, nil)
}

// DeleteModelConfig removes a Model config and says whether there was one.
func (tx *Tx) DeleteModelConfig(id chat.ModelConfigID) (bool, error) {
	key, err := idKey(id)
	if err != nil {
		return false, err
	}
	return deleteNoun(tx, bModelConfig, key)
}
