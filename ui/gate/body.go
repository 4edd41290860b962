package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"holdfast/engine/chat"
)

// maxDepth is how deep JSON may be nested.
const maxDepth = 64

// ReadJSON decodes a request's body strictly into what into points to: application/json alone (KindNotJSON), within the Route's
// MaxBody (KindTooLarge), one value that is not null, no field that is unknown, there twice or in other case, nested at most 64 deep (KindInvalid).
func ReadJSON(r *http.Request, into any) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return &chat.Error{Kind: chat.KindNotJSON, Message: "The body must be JSON.", Detail: "Send Content-Type: application/json."}
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return err
		}
		return &chat.Error{Kind: chat.KindInvalid, Message: "The request did not arrive whole.", Cause: err}
	}
	// The decoder takes null for everything that is left out: it would reset what a PUT replaces.
	if string(bytes.TrimSpace(b)) == "null" {
		return notValid("the body is null")
	}
	if tooDeep(b) {
		return notValid(fmt.Sprint("nested deeper than ", maxDepth))
	}
	if err := exact(b, into); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return jsonFault(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return notValid("there is something after the value")
	}
	return nil
}

// jsonFault names the field where the decoder knows it.
func jsonFault(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return chat.Invalid(wrong.Field, "must not be a "+wrong.Value)
	}
	if quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return chat.Invalid(strings.Trim(quoted, `"`), "is not known here")
	}
	if errors.Is(err, io.EOF) {
		return notValid("the body is empty")
	}
	return notValid(strings.TrimPrefix(err.Error(), "json: "))
}

func notValid(detail string) *chat.Error {
	return &chat.Error{Kind: chat.KindInvalid, Message: "The request is not valid.", Detail: detail}
}

// tooDeep counts brackets outside of strings; the decoder itself allows ten thousand levels.
func tooDeep(b []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
