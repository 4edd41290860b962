package seal

// At has f told of each step of a change of the key.
func (r *Room) At(f func(step string)) { r.at = f }
