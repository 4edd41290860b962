package engine

import "holdfast/engine/chat"

// lasts says whether what a Call starts outlives the appliance: beside an Agent it does.
func (b *batch) lasts(p *planned) bool {
	t := &b.r.t
	return p.def.Attaches && t.record != nil && t.record.Kind == chat.WorkspaceAgent
}

// attached remembers the process of a Call that outlives the appliance.
func (b *batch) attached(i int, process string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lasting[i] = process
}

// repeats says whether the next process of the appliance may take up a Call that was cut.
func (b *batch) repeats(i int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls[i].def.Effect == chat.ClassRead || b.lasting[i] != ""
}

// lose notes that nobody knows whether a Call has run.
func (b *batch) lose() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.r.mayHaveRun = true
	}
}

// leave gives the Calls that stay open their processes. mu is held.
func (b *batch) leave() {
	for i := range b.calls {
		if b.results[i] == nil {
			b.calls[i].attach = b.lasting[i]
		}
	}
}
