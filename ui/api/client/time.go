package client

import (
	"encoding/json"
	"reflect"
	"time"
)

// timeFormat is RFC 3339 with milliseconds, in UTC.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"

// Time is a time on the wire.
type Time struct{ time.Time }

// At makes a Time.
func At(t time.Time) Time { return Time{t} }

// AtOrNil makes an optional Time.
func AtOrNil(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	return &Time{*t}
}

// MarshalJSON writes milliseconds, UTC.
func (t Time) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, len(timeFormat)+2)
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, timeFormat)
	return append(b, '"'), nil
}

// UnmarshalJSON reads RFC 3339; what is none is refused with its field.
func (t *Time) UnmarshalJSON(b []byte) error {
	if err := t.Time.UnmarshalJSON(b); err != nil {
		return &json.UnmarshalTypeError{Value: "value that is no time", Type: reflect.TypeFor[Time]()}
	}
	return nil
}
