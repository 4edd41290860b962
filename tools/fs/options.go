package fs

import "holdfast/engine/chat"

// Options are the bounds of the file Tools; a zero field means its default.
type Options struct {
	// ReadLines is the most lines of one read_file (2000), SmallReadLines the default for small windows (400), SmallWindow the
	// window in tokens below which it holds (16,384).
	ReadLines, SmallReadLines, SmallWindow int
	// WriteBytes is the largest content of write_file (1 MiB).
	WriteBytes int
	// EditFiles and Edits bound one edit_files (20 files, 100 edits in all).
	EditFiles, Edits int
	// KeepBytes is the largest file that may be changed, because its bytes are kept first (64 MiB).
	KeepBytes int64
	// Entries and Matches bound list_files (500) and search_files (100).
	Entries, Matches int
	// DiffBytes bounds the diffs of one Call that are kept for the page (256 KiB).
	DiffBytes int
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		field *int
		value int
	}{
		{&o.ReadLines, 2000}, {&o.SmallReadLines, 400}, {&o.SmallWindow, 16384}, {&o.WriteBytes, 1 << 20}, {&o.EditFiles, 20},
		{&o.Edits, 100}, {&o.Entries, 500}, {&o.Matches, 100}, {&o.DiffBytes, 256 << 10},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if o.KeepBytes == 0 {
		o.KeepBytes = 64 << 20
	}
	return o
}

// Tools gives the file Tools in the order in which models see them.
func Tools(o Options) []chat.Tool {
	o = o.withDefaults()
	return []chat.Tool{reader{o}, writer{o}, editor{o}, lister{o}, searcher{o}}
}
