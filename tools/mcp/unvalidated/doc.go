// Package jsonschema stands in for the JSON Schema validator that the MCP library links, and validates nothing.
//
// The real one compiles nine meta schemas in every process, before main: half of what all packages together do there, for a check that the library
// makes only for servers that ask for it, which ours do not. A Compiler refuses every schema with ErrLeftOut, which the library takes for a schema
// that it cannot check; a Schema refuses every value, so that nothing passes for checked. go.mod puts this in the real one's place.
package jsonschema

import (
	"encoding/json"
	"errors"
	"io"
)

// ErrLeftOut says that there is no validator.
var ErrLeftOut = errors.New("this binary has no JSON Schema validator")

// Compiler compiles no schema.
type Compiler struct{}

// NewCompiler makes a Compiler.
func NewCompiler() *Compiler { return &Compiler{} }

// AddResource refuses the document.
func (*Compiler) AddResource(string, any) error { return ErrLeftOut }

// Compile refuses the schema.
func (*Compiler) Compile(string) (*Schema, error) { return nil, ErrLeftOut }

// Schema holds for no value.
type Schema struct{}

// Validate refuses the value.
func (*Schema) Validate(any) error { return ErrLeftOut }

// ValidationError is what the library asks errors for; none is ever made.
type ValidationError struct {
	InstanceLocation []string
	ErrorKind        any
	Causes           []*ValidationError
}

func (*ValidationError) Error() string { return ErrLeftOut.Error() }

// UnmarshalJSON decodes one JSON value and keeps its numbers as they are written.
func UnmarshalJSON(r io.Reader) (any, error) {
	d := json.NewDecoder(r)
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}
