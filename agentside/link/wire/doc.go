// Package wire is the protobuf form of what an Agent calls on the appliance: Hello, PushContextState and Heartbeat, with the client
// and the handler that Connect makes of them. All but this file is generated from link.proto.
//
// Caveats: a field number is for ever; what is taken out is reserved. Numbers of enums are not those of any Go constant.
package wire

//go:generate sh -c "protoc -I. --plugin=protoc-gen-go=$(go tool -n protoc-gen-go) --plugin=protoc-gen-connect-go=$(go tool -n protoc-gen-connect-go) --go_out=. --go_opt=paths=source_relative --connect-go_out=. --connect-go_opt=paths=source_relative,package_suffix= link.proto"
