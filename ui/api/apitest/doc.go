// Package apitest starts a whole appliance for tests: a real store, engine, account room, Gate and Tools on a loopback address and a
// Unix socket, with a scripted model server inside the process. Start gives an Appliance; its Client is the owner's.
//
// Caveats: it wires all rooms, so only tests may import it. Cleanup stops the appliance and checks the store.
package apitest
