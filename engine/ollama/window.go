package ollama

// unknownWindow is the window where the memory is unknown.
const unknownWindow = 8192

// windows are those of a model config made by itself, largest first.
var windows = [...]int64{32768, 16384, 8192, 4096}

// usable leaves a tenth of the memory to everything else on the machine and to the buffers of the computation.
func usable(memory int64) int64 { return memory / 10 * 9 }

// suggestWindow gives the largest window that the model was trained for and that fits beside its weights, and whether it
// does fit: nil when that is not known. A model trained for less than the smallest gets what it was trained for.
func suggestWindow(m shown, weights, memory int64) (int64, *bool) {
	trained := func(w int64) bool { return m.trained == 0 || w <= m.trained }
	if memory <= 0 || weights <= 0 || m.kvToken <= 0 {
		if trained(unknownWindow) {
			return unknownWindow, nil
		}
		return m.trained, nil
	}
	smallest := windows[len(windows)-1]
	for _, w := range windows {
		if trained(w) && weights+w*m.kvToken <= usable(memory) {
			yes := true
			return w, &yes
		}
	}
	if !trained(smallest) {
		smallest = m.trained
	}
	fits := weights+smallest*m.kvToken <= usable(memory)
	return smallest, &fits
}
