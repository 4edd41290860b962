// Package seal keeps secrets: it seals texts under the appliance's key, and takes those in use out of what is written.
//
// Types: Key seals and opens (AES-256-GCM, a random nonce, the record's name as additional data), Filter is a sink that replaces known
// secrets by ***, Room changes the key. Load finds or makes the key, Key.Prove holds it against the store's test record.
//
// A Key prints nothing of itself. Texts go in and come out as chat.Secret, which does not print either. What is
// sealed anew when the key changes is listed in tx.ReplaceSealed; what tx.PutSecret keeps is known to the Filter from the start, and
// whoever stores a new one adds it.
package seal

//go:generate go run holdfast/engine/guardgen
