package health

import (
	"context"
	"fmt"

	"holdfast/engine/chat"
)

// LineState is what a look at one thing came to.
type LineState string

// What a look can come to. Skipped says that nobody looked, which is never well.
const (
	Well    LineState = "ok"
	Warning LineState = "warning"
	Failed  LineState = "failed"
	Skipped LineState = "skipped"
)

// Line is one thing that was looked at: what was found, and what to do about it ("" for nothing).
type Line struct {
	Name  string
	State LineState
	Found string
	Do    string
}

// DoctorInput asks for the list; Deep reads every record.
type DoctorInput struct{ Deep bool }

// DoctorOutput is the list, in its fixed order.
type DoctorOutput struct{ Lines []Line }

// Look has further things looked at, behind the store: main knows them.
func (r *Room) Look(look func(ctx context.Context, deep bool) []Line) { r.look = look }

// Doctor looks at everything.
func (r *Room) Doctor(ctx context.Context, p chat.Principal, in DoctorInput) (DoctorOutput, error) {
	var out DoctorOutput
	if in.Deep {
		// What it finds stands among the damages.
		if _, err := r.store.Check(ctx, true); err != nil {
			return out, err
		}
	}
	report, err := r.Report(ctx, p, ReportInput{})
	if err != nil {
		return out, err
	}
	out.Lines = append(out.Lines, storeLine(report, in.Deep), diskLine(report))
	if r.look != nil {
		out.Lines = append(out.Lines, r.look(ctx, in.Deep)...)
	}
	return out, nil
}

func storeLine(r Report, deep bool) Line {
	read := "records are read one chat a minute"
	if deep {
		read = "every record was read"
	}
	l := Line{Name: "store", State: Well, Found: fmt.Sprintf("takes writes; %s, %s unused; %s", Size(r.Size), Size(r.Unused), read)}
	switch {
	case len(r.Damages) > 0:
		d := r.Damages[0]
		l.State, l.Found = Failed, fmt.Sprintf("%d damaged records; the first is %s %s %d %s: %s", len(r.Damages), d.Noun, d.Chat, d.Message, d.Key, d.Reason)
		l.Do = "Export what can be read, and restore a copy of the data directory."
	case r.State != "ok":
		l.State, l.Found, l.Do = Failed, r.State+": "+r.Reason, "Free some space on its disk; if it is read-only, restart the appliance, which checks it."
	}
	return l
}

func diskLine(r Report) Line {
	switch {
	case r.Total < 0:
		return Line{Name: "disk", State: Skipped, Found: "the file system of the data directory does not say how full it is"}
	case r.Low:
		return Line{Name: "disk", State: Failed, Found: Size(r.Free) + " free of " + Size(r.Total), Do: "Free some space: new turns are refused."}
	}
	return Line{Name: "disk", State: Well, Found: Size(r.Free) + " free of " + Size(r.Total)}
}

// Size says a number of bytes for people.
func Size(n int64) string {
	units := []string{"bytes", "KB", "MB", "GB", "TB"}
	f, i := float64(n), 0
	for f >= 1000 && i < len(units)-1 {
		f, i = f/1000, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
