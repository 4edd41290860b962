// Package argument checks what a model wrote against a Tool's schema: Prepare turns the raw arguments of a Call into the object
// that Tool.Run gets, or says what is wrong with them; Match finds the Tool that a slightly misspelt name means.
//
// The forms that weak models write are accepted where the meaning is certain: numbers and booleans as text, a whole number as
// 3.0, a lone object where a list of objects is wanted, an enum value in another case, "" or null for "not given". Everything
// else is a problem that names the field. Only the parts of JSON Schema that Tools use are read (type, properties, required,
// enum, items); where a schema says nothing, anything goes.
//
// Everything here is pure and imports engine/chat only.
package argument
