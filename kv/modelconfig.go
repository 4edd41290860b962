package kv

import "holdfast/engine/chat"

var modelConfigFields = fieldsOf[chat.ModelConfig]()

// ModelConfig gives a Model config.
func (x *Tx) ModelConfig(id chat.ModelConfigID) (*chat.ModelConfig, bool, error) {
	return getByID[chat.ModelConfig](x, bModelConfig, id)
}

// PutModelConfig writes a Model config.
func (x *Tx) PutModelConfig(m *chat.ModelConfig) error {
	key, err := idKey(m.ID)
	if err != nil {
		return err
	}
	return putNoun(x, bModelConfig, key, m, modelConfigFields)
}

// ModelConfigs gives all Model configs, oldest first.
func (x *Tx) ModelConfigs() ([]*chat.ModelConfig, error) {
	return listNoun[chat.ModelConfig](x, bModelConfig, nil)
}

// DeleteModelConfig removes a Model config and says whether there was one.
func (x *Tx) DeleteModelConfig(id chat.ModelConfigID) (bool, error) {
	key, err := idKey(id)
	if err != nil {
		return false, err
	}
	return deleteNoun(x, bModelConfig, key)
}
