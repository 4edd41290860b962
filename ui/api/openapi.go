package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// object is a JSON object of the document.
type object = map[string]any

// problem is the shape of every refusal.
type problem struct {
	Message     string            `json:"message"`
	Detail      string            `json:"detail,omitempty"`
	Kind        chat.Kind         `json:"kind"`
	RequestID   string            `json:"request_id,omitempty"`
	Validations []chat.Validation `json:"validations,omitempty"`
	// The rest is said by usage_limit only.
	SpentMicros *int64       `json:"spent_micros,omitempty"`
	LimitMicros *int64       `json:"limit_micros,omitempty"`
	SpentTokens *int64       `json:"spent_tokens,omitempty"`
	LimitTokens *int64       `json:"limit_tokens,omitempty"`
	ResetsAt    *client.Time `json:"resets_at,omitempty"`
}

// describe makes the OpenAPI document from the route table and the handlers' types.
func describe(version string, endpoints []endpoint) []byte {
	s := schemas{components: object{}}
	refused := object{"description": "Refused or failed; nothing is half done.", "content": content("application/json", s.of(problem{}))}
	paths := object{}
	for _, e := range endpoints {
		path := strings.ReplaceAll(e.path, "...}", "}")
		item, _ := paths[path].(object)
		if item == nil {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(e.method)] = s.operation(e, refused)
	}
	doc := object{
		"openapi":  "3.1.0",
		"info":     object{"title": "Holdfast", "version": version, "summary": "The JSON API of a Holdfast appliance."},
		"servers":  []object{{"url": "/api/v1"}, {"url": "/api/experimental", "description": "The same routes under another name."}},
		"security": []object{{"bearer": []string{}}},
		"paths":    paths,
		"components": object{"schemas": s.components,
			"securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer"}}},
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // maps, strings and numbers always encode
	}
	return b
}

func content(media string, schema any) object { return object{media: object{"schema": schema}} }

func (s *schemas) operation(e endpoint, refused object) object {
	op := object{"summary": e.summary, "operationId": operationID(e)}
	if list := s.parameters(e); len(list) > 0 {
		op["parameters"] = list
	}
	switch {
	case e.rawBody != "":
		op["requestBody"] = object{"required": true, "content": content(e.rawBody, object{"type": "string", "format": "binary"})}
	case e.in != nil:
		op["requestBody"] = object{"required": true, "content": content("application/json", s.of(e.in))}
	}
	answers := object{"default": refused}
	for status, out := range e.out {
		a := object{"description": http.StatusText(status)}
		if out != nil {
			a["content"] = content("application/json", s.of(out))
		} else if e.rawOut && status == http.StatusOK {
			a["content"] = content("*/*", object{"type": "string", "format": "binary"})
		}
		if e.asText != "" {
			a["content"].(object)[e.asText] = object{"schema": object{"type": "string"}}
		}
		if e.keyed {
			a["headers"] = object{"Idempotency-Replayed": object{"description": "true where the key was known: this is the first answer.",
				"schema": object{"type": "string"}}}
		}
		answers[strconv.Itoa(status)] = a
	}
	if e.streams != nil {
		answers["200"] = object{"description": "Server-Sent Events; each data line is one JSON value of this schema.",
			"content": content("text/event-stream", s.of(e.streams))}
	}
	op["responses"] = answers
	return op
}

func (s *schemas) parameters(e endpoint) []object {
	var list []object
	for _, segment := range strings.Split(e.path, "/") {
		name, ok := strings.CutPrefix(segment, "{")
		if !ok {
			continue
		}
		schema := object{"type": "string"}
		if name == "n}" {
			schema = object{"type": "integer"}
		}
		list = append(list, object{"name": strings.TrimRight(name, ".}"), "in": "path", "required": true, "schema": schema})
	}
	for _, p := range e.query {
		schema := object{"type": "string"}
		if p.integer {
			schema = object{"type": "integer"}
		}
		list = append(list, object{"name": p.name, "in": "query", "description": p.describes, "schema": schema})
	}
	if e.keyed {
		list = append(list, object{"name": "Idempotency-Key", "in": "header", "schema": object{"type": "string", "minLength": 1, "maxLength": 128},
			"description": "A repeat with the same key and body is carried out once."})
	}
	return list
}

// operationID is the method and the words of the path.
func operationID(e endpoint) string {
	words := strings.FieldsFunc(e.path, func(r rune) bool { return strings.ContainsRune("/{}._-", r) })
	return strings.Join(slices.Insert(words, 0, strings.ToLower(e.method)), "_")
}
