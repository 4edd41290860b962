package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"holdfast/engine/chat"
	"holdfast/ui/api/client"
)

// schemas makes JSON Schemas of Go types as encoding/json writes them. Structs stand in components once, by their name.
type schemas struct{ components object }

// of gives the schema of a value's type.
func (s *schemas) of(v any) object { return s.schema(reflect.TypeOf(v)) }

func (s *schemas) schema(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[client.Time](), reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	case reflect.TypeFor[client.Event]():
		return s.events()
	case reflect.TypeFor[chat.State]():
		return object{"type": "string", "enum": chat.States}
	case reflect.TypeFor[chat.Role]():
		return object{"type": "string", "enum": []chat.Role{chat.RoleSystem, chat.RoleUser, chat.RoleAssistant, chat.RoleTool}}
	}
	if strings.HasPrefix(t.Name(), "Nullable[") {
		field, _ := t.FieldByName("Value")
		return s.schema(field.Type)
	}
	if strings.HasPrefix(t.Name(), "listOrOne[") {
		list, _ := t.FieldByName("List")
		return object{"oneOf": []object{s.schema(list.Type), s.schema(list.Type.Elem())}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(s.schema(t.Elem()))
	case reflect.Struct:
		return s.named(t)
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.schema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.schema(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int64, reflect.Int32:
		return object{"type": "integer"}
	}
	panic("api: no schema for " + t.String())
}

// nullable lets a schema be null, too.
func nullable(schema object) object {
	if kind, ok := schema["type"].(string); ok && schema["enum"] == nil {
		out := object{}
		for k, v := range schema {
			out[k] = v
		}
		out["type"] = []string{kind, "null"}
		return out
	}
	return object{"oneOf": []object{schema, {"type": "null"}}}
}

// named refers to a struct's component and makes it at the first time.
func (s *schemas) named(t reflect.Type) object {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	ref := object{"$ref": "#/components/schemas/" + name}
	if s.components[name] != nil {
		return ref
	}
	properties := object{}
	body := object{"type": "object", "properties": properties, "additionalProperties": false}
	s.components[name] = body
	required := []string{}
	for i := range t.NumField() {
		field := t.Field(i)
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == "-" || !field.IsExported() {
			continue
		}
		schema := s.schema(field.Type)
		if optional := strings.Contains(options, "omit"); optional && field.Type.Kind() == reflect.Pointer {
			schema = s.schema(field.Type.Elem())
		} else if !optional {
			required = append(required, tag)
		}
		properties[tag] = schema
	}
	if len(required) > 0 {
		body["required"] = required
	}
	return ref
}

// events is one of the stream's events, told apart by their type.
func (s *schemas) events() object {
	var all []object
	mapping := object{}
	for _, e := range client.Events() {
		t := reflect.TypeOf(e).Elem()
		ref := s.named(t)
		all = append(all, ref)
		mapping[e.EventType()] = ref["$ref"]
		// The type's value is fixed, so that exactly one of them fits.
		properties := s.components[t.Name()].(object)["properties"].(object)
		properties["type"] = object{"type": "string", "const": e.EventType()}
	}
	return object{"oneOf": all, "discriminator": object{"propertyName": "type", "mapping": mapping}}
}
