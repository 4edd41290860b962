package chat

// CompactionConfig says which model writes the summaries of compactions.
type CompactionConfig struct {
	// ModelConfigID is the model that is asked; ZeroModelConfig is the Chat's own.
	ModelConfigID ModelConfigID `json:"model_config_id"`
}
